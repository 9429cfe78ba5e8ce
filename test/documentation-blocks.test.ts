import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { blocksRunBy, codeBlocks, PAGES, RUNS, type CodeBlock } from './support/code-blocks';

/**
 * Each fenced block of the documentation is run by a test, or stands here with the reason why not.
 */

const ROOT = path.join(__dirname, '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

interface Shown {
  page: string;
  /** Its first words. */
  begins: string;
  /**
   * What it is: a drawing, what comes out of something, a command that takes too long, or one like
   * another that a test runs.
   */
  kind: 'drawing' | 'output' | 'long' | 'alike';
  reason: string;
}

const SHOWN: Shown[] = [
  {
    page: 'README.md',
    begins: 'npm ci && npm start',
    kind: 'long',
    reason: 'npm ci asks the registry for every package; the tests of npm start do the rest',
  },
  {
    page: 'packages/client/README.md',
    begins: 'npm install ./assent-client-',
    kind: 'alike',
    reason: 'test/client/package.test.ts packs the file, and scripts/release.ts installs it',
  },
  { page: 'CONTRIBUTING.md', begins: 'npm run fuzz', kind: 'long', reason: 'minutes for each seed' },
  { page: 'SECURITY.md', begins: 'npm run hostile', kind: 'long', reason: 'minutes on servers of its own' },
  {
    page: 'docs/api.md',
    begins: 'go run github.com/oapi-codegen',
    kind: 'long',
    reason: 'npm run fuzz:client makes these clients, and needs their registries',
  },
  {
    page: 'docs/errors.md',
    begins: '{\n  "statusCode": 409',
    kind: 'output',
    reason: 'of the API; test/support/conformance.ts holds every answer to the document',
  },
  {
    page: 'docs/operations.md',
    begins: 'npx assent database logins | psql',
    kind: 'alike',
    reason: 'no psql comes with our Postgres: test/cli/database.test.ts runs what the command prints',
  },
  {
    page: 'docs/operations.md',
    begins: 'psql "$BACKUP_URL"',
    kind: 'alike',
    reason: 'no psql comes with our Postgres: test/cli/doctor.test.ts disables triggers and enables them',
  },
  {
    page: 'docs/guides/finance.md',
    begins: '$ npx assent statement match',
    kind: 'output',
    reason: 'of npm run month-end, which holds the page to it in .ci/run',
  },
  {
    page: 'docs/guides/finance.md',
    begins: '$ npx assent bank-files withdraw',
    kind: 'output',
    reason: 'of npm run month-end, which holds the page to it in .ci/run',
  },
  {
    page: 'docs/guides/finance.md',
    begins: '$ npx assent write-offs',
    kind: 'output',
    reason: 'of npm run month-end, which holds the page to it in .ci/run',
  },
  { page: 'docs/performance.md', begins: 'npm run bench ', kind: 'long', reason: 'a measurement of an hour' },
  {
    page: 'docs/performance.md',
    begins: 'npm run bench:growth',
    kind: 'long',
    reason: 'a measurement that takes 55 GB',
  },
  { page: 'docs/proof.md', begins: 'npm run prove -- --b', kind: 'long', reason: 'years, simulated' },
  { page: 'docs/proof.md', begins: 'npm run prove -- --m', kind: 'long', reason: 'each fault its own run' },
  { page: 'docs/reliability.md', begins: 'npm run storm', kind: 'long', reason: 'minutes of crashes' },
  { page: 'docs/reliability.md', begins: 'mount -t tmpfs', kind: 'long', reason: 'fills a disk, as root' },
  {
    page: 'docs/tracing.md',
    begins: 'POST /v1/customer/bill',
    kind: 'output',
    reason: 'a trace, as a backend draws it; test/tracing has its spans',
  },
  {
    page: 'docs/webhooks.md',
    begins: 'POST /assent HTTP/1.1',
    kind: 'output',
    reason: 'a request with what is long left out; the test vectors below it have one in full',
  },
];

/** A diagram is drawn from what it shows, and never run. */
const blocks = PAGES.flatMap(codeBlocks).filter(({ language }) => language !== 'mermaid');
const at = ({ page, line }: CodeBlock) => `${page}:${line}`;
const isShown = ({ page, text }: CodeBlock) =>
  SHOWN.some((one) => one.page === page && text.trimStart().startsWith(one.begins));
const runs = new Set(
  Object.entries(RUNS).flatMap(([test, of]) =>
    of.flatMap(({ page }) => blocksRunBy(test, page).map((block) => at(block))),
  ),
);

describe('the blocks of the documentation', () => {
  it('say what they are written in', () => {
    expect(blocks.length).toBeGreaterThan(90);
    expect(blocks.filter(({ language }) => !/^[a-z]+$/.test(language)).map(at)).toEqual([]);
  });

  it('are each run by a test, or stand here with the reason', () => {
    expect(blocks.filter((block) => !runs.has(at(block)) && !isShown(block)).map(at)).toEqual([]);
    expect(blocks.filter((block) => runs.has(at(block)) && isShown(block)).map(at)).toEqual([]);
  });

  it('stand here once each', () => {
    const standing = SHOWN.map(
      ({ page, begins }) =>
        blocks.filter((block) => block.page === page && block.text.trimStart().startsWith(begins)).length,
    );
    expect(standing).toEqual(SHOWN.map(() => 1));
  });

  it('are asked for by the tests that run them', () => {
    const idle = Object.entries(RUNS).flatMap(([test, of]) => {
      const source = existsSync(path.join(ROOT, test)) ? read(test) : '';
      const asks = (page: string) =>
        source.includes(`blocksRunBy('${test}'`) &&
        (source.includes(`'${page}'`) || source.includes(`'${path.basename(page, '.md')}'`));
      return of
        .filter(({ page }) => !asks(page) || blocksRunBy(test, page).length === 0)
        .map(({ page }) => `${test} ${page}`);
    });
    expect(idle).toEqual([]);
  });

  it('name scripts that package.json has, also where nobody runs them', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = blocks.flatMap((block) =>
      [...block.text.matchAll(/\bnpm run (?:-s )?(\w+(?::\w+)*)/g)].map(([, name = '']) => ({
        name,
        at: at(block),
      })),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
  });
});
