import { appendFileSync } from 'node:fs';
import path from 'node:path';
import type { Route } from '../../src/api/http/route';
import { ROLES } from '../../src/domain/entity';

/*
 * What each answer that a test gets is recorded as. Apart from `api-coverage.ts`, which reads the
 * record: that needs all that the document is made of, and this is loaded for every test file that
 * speaks to an API.
 */

/** Names the file that the answers of a run are recorded in; unset in every other run. */
export const RECORD_VARIABLE = 'ASSENT_TEST_API_RECORD';

const TESTS = path.join(__dirname, '..');

interface Shared {
  label: string;
  says: string;
  follows(options: Route['options']): boolean;
}

export const SHARED: Record<string, Shared> = {
  403: {
    label: '403 role',
    says: 'may not call this endpoint',
    follows: ({ roles }) => roles.length < ROLES.length,
  },
  409: {
    label: '409 key',
    says: 'The first request with this Idempotency-Key still runs',
    follows: ({ idempotent }) => idempotent === true,
  },
};

/** Calls of operations that the document does not have. */
export const NO_OPERATION_ID = 'none';

/** Recorded once per test file. */
const recorded = new Set<string>();

/** @param operationId undefined where the document has no such operation */
export function recordAnswer(operationId: string | undefined, status: number, text: string): void {
  const record = process.env[RECORD_VARIABLE];
  if (record === undefined) return;
  const shared = SHARED[status];
  const id = operationId ?? NO_OPERATION_ID;
  const answer = `${id} ${shared && text.includes(shared.says) ? shared.label : status}`;
  if (recorded.has(answer)) return;
  recorded.add(answer);
  const { testPath = '' } = expect.getState();
  const file = path.relative(TESTS, testPath).replace(/\.test\.ts$/, '');
  // One short write at the end of the file: those of several workers stay apart.
  appendFileSync(record, `${answer}\t${file.replaceAll(path.sep, '/')}\n`);
}
