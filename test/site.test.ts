import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
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

/** What a call sends, whoever writes it. */
interface Sent {
  method: string;
  url: string;
  token: string | undefined;
  key: string | undefined;
  type: string | undefined;
  body: unknown;
}

/** A body without its layout, and a form without its order. */
function contentOf(text: string | undefined, type?: string): unknown {
  if (type === 'application/json') return JSON.parse(text ?? '');
  return text?.startsWith('grant_type=') ? Object.fromEntries(new URLSearchParams(text)) : text;
}

/** The calls of curl, with their arguments as a shell reads them. */
function sentByCurl(): Map<string, Sent> {
  const calls = blocks('curl');
  const stub = `curl() { printf '%s\\0' "$@" END; }\nset -eu\nASSENT=http://a TOKEN=t CLIENT_ID=c CLIENT_SECRET=s\n`;
  const told = run('bash', ['-c', stub + [...calls.values()].join('\n')]);
  expect(told).not.toMatch(/unbound|syntax|undefined|\[object/);
  const commands = told.split('END\0').map((one) => one.split('\0').slice(0, -1));
  return new Map(
    [...calls.keys()].map((id, n) => {
      const [words, headers, data] = [commands[n] ?? [], new Map<string, string>(), [] as string[]];
      let [method, url] = ['', ''];
      for (let at = 0; at < words.length; at += 1) {
        const word = words[at] ?? '';
        if (word === '-X') method = words[(at += 1)] ?? '';
        else if (word === '-H') headers.set(...(words[(at += 1)]?.split(': ') as [string, string]));
        else if (word.startsWith('-')) data.push(words[(at += 1)] ?? '');
        else url = word;
      }
      const type = headers.get('Content-Type');
      return [
        id,
        {
          method: method || (data.length > 0 ? 'POST' : 'GET'),
          url,
          token: headers.get('Authorization'),
          key: headers.get('Idempotency-Key'),
          type,
          body: contentOf(data.length > 0 ? data.join('&') : undefined, type),
        },
      ];
    }),
  );
}

test('each operation is called with curl as a shell reads it', () => {
  const sent = sentByCurl();
  const called = Object.entries(document.paths).flatMap(([at, item]) =>
    Object.entries(item).map(([method, { operationId }]): [string, unknown] => [
      operationId,
      expect.objectContaining({
        method: method.toUpperCase(),
        url: expect.stringMatching(
          new RegExp(`^http://a${at.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?\\S+)?$`),
        ) as string,
      }),
    ]),
  );
  expect(sent).toEqual(new Map(called));
});

function sentByPython(): Map<string, Sent> {
  const calls = blocks('Python');
  const told = execFileSync(process.execPath, [path.join(__dirname, 'support/run-python.mjs')], {
    input: JSON.stringify([...calls.values()]),
    encoding: 'utf8',
  });
  const sent = JSON.parse(told) as {
    method: string;
    url: string;
    params: Record<string, string> | null;
    headers: Record<string, string>;
    json: unknown;
    data: unknown;
  }[];
  return new Map(
    [...calls.keys()].map((id, n) => {
      const { method = '', url, params, headers, json, data } = sent[n] ?? {};
      return [
        id,
        {
          method,
          url: `${url}${params ? `?${new URLSearchParams(params).toString()}` : ''}`,
          token: headers?.['Authorization'],
          key: headers?.['Idempotency-Key'],
          type: json ? 'application/json' : headers?.['Content-Type'],
          body: json ?? data ?? undefined,
        },
      ];
    }),
  );
}

test('each operation is called with Python as with curl', () => {
  expect(sentByPython()).toEqual(sentByCurl());
});

/** Bruno's own reader, without types. */
const bruno = require('@usebruno/lang') as {
  bruToJsonV2: (text: string) => BrunoRequest;
  collectionBruToJson: (text: string) => object;
  bruToEnvJsonV2: (text: string) => { variables: { name: string; value: string; secret: boolean }[] };
};
interface BrunoRequest {
  meta: { name: string; seq: string };
  http: { method: string; url: string; body: string; auth: string };
  params?: { name: string; value: string; type: string; enabled: boolean }[];
  headers?: { name: string; value: string }[];
  body?: { json?: string; formUrlEncoded?: { name: string; value: string }[]; file?: { filePath: string }[] };
}

test('the collection for Bruno has each operation in the folder of its section, and sends what curl does', () => {
  const files = new Map(
    Object.entries(unzipSync(site.get('assent-bruno.zip') as Uint8Array)).map(([name, bytes]) => [
      name.replace(/^Assent\//, ''),
      strFromU8(bytes),
    ]),
  );
  const fileOf = ({ operationId, tags }: (typeof operations)[number]) => `${tags[0]}/${operationId}.bru`;
  const folders = [...new Set(operations.map(({ tags }) => `${tags[0]}/folder.bru`))];
  expect([...files.keys()].toSorted()).toEqual(
    [
      'bruno.json',
      'collection.bru',
      'environments/Sandbox.bru',
      'statement.csv',
      ...folders,
      ...operations.map(fileOf),
    ].toSorted(),
  );
  const { variables } = bruno.bruToEnvJsonV2(files.get('environments/Sandbox.bru') ?? '');
  expect(variables.filter(({ secret }) => secret).map(({ name }) => name)).toEqual(['client_secret']);
  expect(bruno.collectionBruToJson(files.get('collection.bru') ?? '')).toMatchObject({
    auth: { mode: 'oauth2', oauth2: { accessTokenUrl: '{{baseUrl}}/v1/oauth/token', autoFetchToken: true } },
  });

  const own: Record<string, string> = {
    baseUrl: 'http://a',
    client_id: 'c',
    client_secret: 's',
    scope: 'read bill',
    $guid: 'order-4711',
  };
  const filled = (text: string) =>
    text.replaceAll(/\{\{(\S+?)\}\}/g, (all, name: string) =>
      name === '$guid' || variables.some((one) => one.name === name) ? (own[name] ?? '') : all,
    );
  const sent = operations.map((operation): [string, Sent] => {
    const request = bruno.bruToJsonV2(filled(files.get(fileOf(operation)) ?? ''));
    const { http, params = [], headers = [], body = {} } = request;
    const file = body.file?.[0]?.filePath;
    expect(file === undefined || files.has(file)).toBe(true);
    const valueOf = (name: string) => params.find((one) => one.name === name)?.value ?? '';
    return [
      operation.operationId,
      {
        method: http.method.toUpperCase(),
        url: http.url.replaceAll(/\/:(\w+)/g, (_, name: string) => `/${valueOf(name)}`).replace('@', '%40'),
        token: http.auth === 'inherit' ? 'Bearer t' : undefined,
        key: headers.find(({ name }) => name === 'Idempotency-Key')?.value,
        type: { json: 'application/json', file: 'text/csv' }[http.body],
        body:
          (body.json && JSON.parse(body.json)) ??
          (body.formUrlEncoded &&
            Object.fromEntries(body.formUrlEncoded.map(({ name, value }) => [name, value]))) ??
          (file && `@${file}`),
      },
    ];
  });
  expect(new Map(sent)).toEqual(sentByCurl());
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
