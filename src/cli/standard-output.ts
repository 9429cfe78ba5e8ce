import { once } from 'node:events';

/** Writes to standard output; waits for a reader that is slower. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
