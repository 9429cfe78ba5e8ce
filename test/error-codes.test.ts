import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS_PAGE, errorsPage } from '../scripts/errors-page';
import { FAILURE_CODES, FAILURES } from '../src/domain/failures';

/** The API's own code, and that of the sandbox, which it mounts. */
const SOURCES = ['../src', '../packages/sandbox/src'].map((folder) => join(__dirname, folder));

test('docs/errors.md is made from the codes: `npm run generate:errors` writes it', () => {
  expect(unaligned(readFileSync(ERRORS_PAGE, 'utf8'))).toBe(unaligned(errorsPage()));
});

/** Without what prettier does to tables and to long lines. */
const unaligned = (page: string) => page.trim().replaceAll(/\s+/g, ' ').replaceAll(/-{3,}/g, '---');

test('no code is listed that the API never answers', () => {
  const code = SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /^(?!api\/openapi|domain\/failures).*\.ts$/.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8')),
  ).join('\n');
  expect(FAILURE_CODES.filter((one) => !code.includes(`'${one}'`))).toEqual([]);
});

test('a code has the shape and the status that programs rely on', () => {
  expect(FAILURE_CODES.filter((code) => !/^[a-z]+(_[a-z]+)*$/.test(code))).toEqual([]);
  const statuses = Object.fromEntries(FAILURE_CODES.map((code) => [code, FAILURES[code].status]));
  expect(statuses).toMatchObject({
    invalid_request: 400,
    unauthenticated: 401,
    forbidden: 403,
    not_approved: 403,
    limit_reached: 403,
    not_found: 404,
    already_linked: 409,
    body_too_large: 413,
    unsupported_media_type: 415,
    idempotency_key_reused: 422,
    rate_limited: 429,
    internal: 500,
    unavailable: 503,
  });
});
