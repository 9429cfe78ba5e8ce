import { readFileSync } from 'node:fs';
import path from 'node:path';
import { FAILURES, type FailureCode } from '../../src/domain/failures';
import { routes } from '../../src/api/app';
import { openApiDocument } from '../../src/api/openapi/document';
import { TAGS } from '../../src/api/openapi/operation';
import type { Route } from '../../src/api/http/route';
import { readConfig } from '../../src/config';
import { NO_OPERATION_ID, SHARED } from './answer-record';

/*
 * Which of the documented answers the tests have seen. `conformance-setup.ts`, through which every
 * answer goes, has each recorded where `npm run coverage:api` asks for it; that command makes
 * docs/api-coverage.md of the record.
 *
 * An answer goes by the operation's id and the status: `getClock 200`. What two statuses say of any
 * endpoint is kept apart from what the operation itself refuses with them, or the one would pass
 * for the other: `linkDevice 409` is a device that somebody else has, `linkDevice 409 key` an
 * idempotency key in use.
 */

const ROOT = path.join(__dirname, '../..');
export const COVERAGE_PAGE = path.join(ROOT, 'docs/api-coverage.md');

/** By answer, the first test file by name that got it: `api/sandbox-clock`. */
export type SeenAnswers = ReadonlyMap<string, string>;

export function readRecord(record: string): SeenAnswers {
  const lines = readFileSync(record, 'utf8').split('\n').filter(Boolean);
  const seen = new Map<string, string>();
  for (const line of lines.toSorted()) {
    const [answer = '', file = ''] = line.split('\t');
    if (!seen.has(answer)) seen.set(answer, file);
  }
  return seen;
}

interface Documented {
  id: string;
  tag: string;
  /** `GET /v1/sandbox/clock` */
  endpoint: string;
  /** Its statuses, and what is kept apart from them. */
  answers: string[];
}

/** Refused in one way wherever it is asked for; the document says so in its introduction. */
const NO_OPERATION: Documented = {
  id: NO_OPERATION_ID,
  tag: 'Other paths and methods',
  endpoint: 'any',
  answers: ['404', '405'],
};

/** Every operation that a sandbox serves, in the order of its reference, and what is none. */
function documented(): Documented[] {
  const table: Route[] = routes({ config: readConfig({}) });
  const { paths } = openApiDocument(table);
  const order = Object.keys(TAGS);
  const all = Object.entries(paths)
    .flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, { operationId, tags, responses }]) => {
        const route = template.replaceAll(/\{(\w+)\}/g, ':$1');
        const endpoint = `${method.toUpperCase()} ${route}`;
        const entry = table.find((one) => one.method === method && one.path === route);
        return {
          id: operationId,
          tag: tags[0] ?? '',
          endpoint,
          answers: Object.keys(responses).flatMap((status) => {
            const shared = SHARED[status];
            if (!shared || !entry || !shared.follows(entry.options)) return [status];
            const found = Object.keys(entry.operation.refusals ?? {}) as FailureCode[];
            const own = found.some((code) => FAILURES[code].status === Number(status));
            return own ? [status, shared.label] : [shared.label];
          }),
        };
      }),
    )
    .toSorted((a, b) => order.indexOf(a.tag) - order.indexOf(b.tag));
  return [...all, NO_OPERATION];
}

/** Every answer that the document has. */
export function documentedAnswers(): string[] {
  return documented().flatMap(({ id, answers }) => answers.map((answer) => `${id} ${answer}`));
}

const NOT_DOCUMENTED = '–';

/** The page, in Markdown; what was never seen stays empty. */
export function coveragePage(seen: SeenAnswers): string {
  const operations = documented();
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const files = [...new Set(seen.values())].toSorted();
  return [
    introduction(operations.length - 1, documentedAnswers().length),
    ...tags.map((tag) => section(tag, operations, seen)),
    files.map((file) => `[${file}]: ../test/${file}.test.ts`).join('\n'),
  ].join('\n\n');
}

const introduction = (operations: number, answers: number) => `# API coverage

What each of the ${operations} operations has been seen to answer over HTTP: for each of the ${answers} answers that \`/openapi.json\`
documents, the first test file, by name, that got it. Headers and body of each were held to the document, too.

- ${NOT_DOCUMENTED} stands where the document has no such answer.
- **403 role** is a caller of another role, **409 key** an idempotency key whose first request still runs. 403 and 409 alone are what the
  operation itself finds.

\`npm run coverage:api\` runs the tests of the API and the journeys, records what they are answered, and writes this page. It fails
where a documented answer was never seen, and where one was seen that is not documented.`;

const row = (cells: string[]) => `| ${cells.join(' | ')} |`;

function section(tag: string, all: readonly Documented[], seen: SeenAnswers): string {
  const operations = all.filter((one) => one.tag === tag);
  const columns = [...new Set(operations.flatMap(({ answers }) => answers))].toSorted();
  return [
    `## ${tag}\n`,
    row(['Operation', 'Endpoint', ...columns]),
    row(['---', '---', ...columns.map(() => '---')]),
    ...operations.map(({ id, endpoint, answers }) =>
      row([
        `\`${id}\``,
        `\`${endpoint}\``,
        ...columns.map((column) => {
          const file = seen.get(`${id} ${column}`);
          if (!answers.includes(column)) return NOT_DOCUMENTED;
          return file === undefined ? '' : `[${file}]`;
        }),
      ]),
    ),
  ].join('\n');
}

/** What a page says, read back from it. */
export function answersOn(page: string): SeenAnswers {
  const seen = new Map<string, string>();
  let columns: string[] = [];
  for (const line of page.split('\n').filter((one) => one.startsWith('|'))) {
    const cells = line.split('|').map((cell) => cell.trim());
    const [, first = ''] = cells;
    if (first === 'Operation') columns = cells;
    const id = /^`(\w+)`$/.exec(first)?.[1];
    if (id === undefined) continue;
    for (const [i, cell] of cells.entries()) {
      const file = /^\[(.+)\]$/.exec(cell)?.[1];
      if (file !== undefined) seen.set(`${id} ${columns[i]}`, file);
    }
  }
  return seen;
}
