import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePorts as nowFree } from '../launch/ports';
import { runFolder } from './once-per-run';

/**
 * A port for a program that is told where to listen, or where nobody is to: none of those that
 * systems give out by themselves, which another test's connection or server may get meanwhile.
 */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/** Ports in a row, each given once in a run: nobody listens yet on those given a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const folder = path.join(runFolder(), 'ports');
  await mkdir(folder, { recursive: true });
  // A run takes some hundreds of 8 000 ports.
  for (;;) {
    const ports = await nowFree(count);
    const taken = ports.map((port) => writeFile(path.join(folder, String(port)), '', { flag: 'wx' }));
    if ((await Promise.allSettled(taken)).every(({ status }) => status === 'fulfilled')) return ports;
  }
}
