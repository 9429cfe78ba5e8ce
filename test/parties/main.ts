/** Lets a party listen in a process of its own, and tells its owner where. */
export async function runParty(party: {
  listen(port: number): Promise<number>;
  close(): Promise<void>;
}): Promise<void> {
  const port = await party.listen(0);
  process.send?.({ url: `http://127.0.0.1:${port}` });
  // The owner that forked this process is gone: nobody is left to play with.
  process.once('disconnect', () => process.exit());
}

/** @throws Error where it is not set */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} must be set`);
  return value;
}
