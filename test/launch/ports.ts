import { randomInt } from 'node:crypto';
import { whyNotFree } from '../../src/start/ports';
import { OperatorError } from '../../src/domain/failures';

/**
 * Below the ports that systems give out by themselves (32768 and up), where a connection of
 * anybody's may sit, and which Temporal cannot use for its membership: it keeps those in 16 bits
 * with a sign.
 */
const FIRST = 10_000;
const LAST = 18_000;
const TRIES = 20;

/** Free ports in a row. @throws OperatorError where none are found */
export async function freePorts(count: number): Promise<number[]> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const first = randomInt(FIRST, LAST);
    const ports = Array.from({ length: count }, (_, step) => first + step);
    const problems = await Promise.all(ports.map(whyNotFree));
    if (problems.every((problem) => problem === undefined)) return ports;
  }
  throw new OperatorError(`There are no ${count} free ports in a row between ${FIRST} and ${LAST}.`);
}
