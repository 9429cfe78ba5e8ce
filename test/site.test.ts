import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSite, type Site } from '../site/build';
import { referencePages } from '../site/reference';
import { routes } from '../src/api/app';
import { openApiDocument } from '../src/api/openapi/document';
import { readConfig } from '../src/settings/config';

/* The pages of the documentation, as they are made. `test/browser` opens them. */

const ROOT = path.join(__dirname, '..');
const document = openApiDocument(routes({ config: readConfig({}) }));
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));

let site: Site;
let pages: [name: string, html: string][];
beforeAll(async () => {
  site = await buildSite(document, { script: 'docs.js', style: 'docs.css', icon: 'data:,' });
  pages = [...site].filter((one): one is [string, string] => String(one[1]).startsWith('<!doctype'));
});

test('each link of a page leads to a page and a heading, or to a picture, that there is', () => {
  const anchors = new Map(
    pages.map(([name, html]) => [
      name,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)),
    ]),
  );
  const links = pages.flatMap(([name, html]) =>
    [...html.matchAll(/(?:href|src|srcset)="(?:\/docs\/?([^"#]*))?(?:#([^"]+))?"/g)].map(
      ([all, to, anchor]) => ({ from: name, all, to: to ?? name, anchor }),
    ),
  );
  expect(links.length).toBeGreaterThan(2_000);
  const dead = links.filter(
    ({ to, anchor }) => !site.has(to) || (anchor !== undefined && !anchors.get(to)?.has(decodeURI(anchor))),
  );
  expect(dead).toEqual([]);
});

test('the headings of the reference are sentences: what an operation does, or what a webhook tells', () => {
  const headings = referencePages(document)
    .flatMap(({ html }) => [...html.matchAll(/<(?:h2|summary)[^>]*>(.*?)<\/(?:h2|summary)>/g)])
    .map(([, heading = '']) => textOf(heading))
    .filter((heading) => !['Fields', 'Refusals'].includes(heading));
  expect(headings.length).toBeGreaterThan(100);
  const imperative =
    /^(Add|Advance|Answer|Bill|Cancel|Charge|Check|Create|Download|Enrol|Find|Finish|Forecast|Get|Give|Initiate|Link|List|Look|Onboard|Pause|Redeliver|Resume|Retrieve|Rotate|Say|Search|Send|Set|Skip|Summarize|Unlink|Unskip|Update) .+/;
  const statement = /^[A-Z].* (is|was|has|have|are|were|asks|needs|came|will|did|refunds|sends) .+/;
  const others = headings.filter((one) => !imperative.test(one) && !statement.test(one));
  expect(others).toEqual([]);
});

test('no page has a script, a style or a part from elsewhere in it', () => {
  expect(pages.length).toBeGreaterThan(50);
  for (const [name, html] of pages) {
    const told = [
      name,
      html.match(
        /<script(?! type="module" blocking="render" src="\/pages)|<style|\sstyle=|\son\w+=|(?:src|srcset)="http/,
      ),
    ];
    expect(told).toEqual([name, null]);
  }
});

test('the search knows each operation and each section of a page', () => {
  const entries = JSON.parse(String(site.get('search.json'))) as { id: string; text: string; code: string }[];
  const ids = new Set(entries.map(({ id }) => id));
  for (const { operationId, tags } of operations) {
    const page = tags[0]?.toLowerCase().replaceAll(' ', '-');
    expect(ids).toContain(`/docs/reference/${page}#${operationId}`);
  }
  expect(ids).toContain('/docs/guides/merchant#bill');
  expect(entries.find(({ id }) => id === '/docs/quickstart')?.text).toContain('PORT_OFFSET');
  // An example has the words of a field, and would stand before what explains them.
  const bill = entries.find(({ id }) => id === '/docs/guides/merchant#bill');
  expect(bill?.text).not.toContain('order-4711');
  expect(bill?.code).toContain('order-4711');
});

test('each page of the reference says that it has the defaults, and what has those of the engine', () => {
  const silent = pages.filter(
    ([name, html]) => name.startsWith('reference') && !html.includes('<a href="/openapi.json">'),
  );
  expect(silent).toEqual([]);
});

/** The text of each block of a language, by operation. */
function blocks(language: string): Map<string, string> {
  const found = pages.flatMap(([, html]) => [
    ...html.matchAll(
      new RegExp(`<div role="tabpanel" id="(\\w+)-${language}"[^>]*><pre[^>]*><code>(.*?)</code>`, 'gs'),
    ),
  ]);
  return new Map(found.map(([, id = '', code = '']) => [id, textOf(code)]));
}

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(lt|gt|quot|#x27|amp);/g, (_, name: string) => ENTITIES[name] ?? '');
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#x27': "'", amp: '&' };

test('each operation is called with the client as its types want it', () => {
  const calls = blocks('TypeScript');
  expect([...calls.keys()].toSorted()).toEqual(operations.map(({ operationId }) => operationId).toSorted());
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-site-'));
  try {
    const functions = [...calls].map(([id, code]) => {
      const own = code.startsWith('//') ? '' : 'const assent = client;\n';
      return `export async function of_${id}() {\n${own}${code}\nreturn [assent];\n}\n`;
    });
    const head = `import { AssentClient } from '@assent/client';\ndeclare const client: AssentClient;\n`;
    writeFileSync(path.join(folder, 'calls.ts'), head + functions.join(''));
    const compilerOptions = {
      rootDir: '/',
      noEmit: true,
      noUnusedLocals: false,
      typeRoots: [path.join(ROOT, 'node_modules/@types')],
      types: ['node'],
      paths: { '@assent/client': [path.join(ROOT, 'packages/client/src/index.ts')] },
    };
    const settings = {
      extends: path.join(ROOT, 'tsconfig.json'),
      compilerOptions,
      include: ['calls.ts'],
      exclude: [],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const told = run(path.join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
    expect(told).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('each operation is called with curl as a shell reads it', () => {
  const calls = blocks('curl');
  expect(calls.size).toBe(operations.length);
  const stub = `curl() { for arg; do printf '%s\\n' "$arg"; done; }\nset -eu\nASSENT=http://a TOKEN=t CLIENT_ID=c CLIENT_SECRET=s\n`;
  const told = run('bash', ['-c', stub + [...calls.values()].join('\n')]);
  expect(told).not.toMatch(/unbound|syntax|undefined|\[object/);
  expect(told.match(/^http:\/\/a\/\S*$/gm)).toHaveLength(operations.length);
});

/** Its output, also where it failed. */
function run(command: string, args: string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || message;
  }
}
