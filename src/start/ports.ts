import { createServer } from 'node:net';
import { StartError } from './start-error';

/** A port that something of ours is about to listen on. */
export interface WantedPort {
  /** Who wants it, as the error names it. */
  name: string;
  port: number;
  host: '127.0.0.1' | '::';
  /** How to have it elsewhere. */
  remedy: string;
}

/** For whoever can do with other ports. */
export class PortTakenError extends StartError {}

/** @throws PortTakenError naming every port that cannot be had, and how to have another */
export async function requireFreePorts(wanted: WantedPort[]): Promise<void> {
  const found = await Promise.all(wanted.map(problem));
  const problems = found.filter((line) => line !== undefined);
  if (problems.length > 0) throw new PortTakenError(problems.join('\n'));
}

async function problem({ name, port, host, remedy }: WantedPort): Promise<string | undefined> {
  if (port > 65_535) return `${name} would need port ${port}, and 65535 is the last: lower PORT_OFFSET.`;
  const code = await listenProblem(port, host);
  if (code === undefined) return undefined;
  const why = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be listened on (${code})`;
  return `Port ${port}, which ${name} needs, ${why}. Stop what listens there, or ${remedy}.`;
}

async function listenProblem(port: number, host: string): Promise<string | undefined> {
  const server = createServer();
  try {
    return await new Promise<string | undefined>((resolve) => {
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      server.listen({ port, host, exclusive: true }, () => resolve(undefined));
    });
  } finally {
    server.close();
  }
}
