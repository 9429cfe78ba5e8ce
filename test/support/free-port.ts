import { freePorts } from '../../bench/ports';

/** Of this test file: nobody listens yet on a port that was given a moment ago. */
const given = new Set<number>();

/**
 * A port for a program that is told where to listen, or where nobody is to: none of those that
 * systems give out by themselves, which another test's connection or server may get meanwhile.
 */
export async function freePort(): Promise<number> {
  // Of thousands, a test file takes some tens.
  for (;;) {
    const [port = 0] = await freePorts(1);
    if (!given.has(port)) {
      given.add(port);
      return port;
    }
  }
}
