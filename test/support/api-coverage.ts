import { readFileSync } from 'node:fs';
import { FAILURES, type FailureCode } from '../../src/domain/failures';
import { routes } from '../../src/api/app';
import { openApiDocument } from '../../src/api/openapi/document';
import type { Route } from '../../src/api/http/route';
import { readConfig } from '../../src/settings/config';
import { NO_OPERATION_ID, SHARED } from './answer-record';

/*
 * Which of the documented answers the tests have seen. `conformance-setup.ts`, through which every
 * answer goes, has each recorded where `npm run coverage:api` asks for it.
 *
 * An answer goes by the operation's id and the status: `getClock 200`. What two statuses say of any
 * endpoint is kept apart from what the operation itself refuses with them, or the one would pass
 * for the other: `linkDevice 409` is a device that somebody else has, `linkDevice 409 key` an
 * idempotency key in use.
 */

/** @returns by answer, the first test file by name that got it */
export function readRecord(record: string): ReadonlyMap<string, string> {
  const lines = readFileSync(record, 'utf8').split('\n').filter(Boolean);
  const seen = new Map<string, string>();
  for (const line of lines.toSorted()) {
    const [answer = '', file = ''] = line.split('\t');
    if (!seen.has(answer)) seen.set(answer, file);
  }
  return seen;
}

/** Every answer that a sandbox's document has, and the two of what is no operation. */
export function documentedAnswers(): string[] {
  const table: Route[] = routes({ config: readConfig({}) });
  const { paths } = openApiDocument(table);
  const all = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, responses }]) => {
      const route = template.replaceAll(/\{(\w+)\}/g, ':$1');
      const entry = table.find((one) => one.method === method && one.path === route);
      return Object.keys(responses).flatMap((status) =>
        answersOf(status, entry).map((answer) => `${operationId} ${answer}`),
      );
    }),
  );
  // Refused in one way wherever it is asked for; the document says so in its introduction.
  return [...all, `${NO_OPERATION_ID} 404`, `${NO_OPERATION_ID} 405`];
}

/** The status, and what is kept apart from it. */
function answersOf(status: string, entry: Route | undefined): string[] {
  const shared = SHARED[status];
  if (!shared || !entry || !shared.follows(entry.options)) return [status];
  const found = Object.keys(entry.operation.refusals ?? {}) as FailureCode[];
  const own = found.some((code) => FAILURES[code].status === Number(status));
  return own ? [status, shared.label] : [shared.label];
}
