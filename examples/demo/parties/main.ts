/** What both entry points of this folder's parties do around them. */
export async function runParty(party: {
  listen(port: number): Promise<number>;
  close(): Promise<void>;
}): Promise<void> {
  const port = await party.listen(Number(setting('PORT')));
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  const stop = () => void party.close().then(() => process.exit(0));
  process.once('SIGTERM', stop).once('SIGINT', stop);
  // The owner that forked this process is gone: nobody is left to play with.
  process.once('disconnect', stop);
}

/** @throws Error where it is not set */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} must be set`);
  return value;
}
