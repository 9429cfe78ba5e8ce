import type { RequestHandler } from 'express';
import { send, serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';

/* The pages and their parts, as they are served; `test/browser` opens them. */

const noParties: RequestHandler = (_req, _res, next) => next();

let test: TestDatabase;
let sandbox: ServedApi;
let production: ServedApi;
beforeAll(async () => {
  test = await createTestDatabase();
  sandbox = await serveApi(test.db, { sandbox: { url: 'http://localhost', routes: noParties } });
  const config = { ...sandbox.deps.config, ASSENT_MODE: 'production' as const };
  production = await serveApi(test.db, { config });
});
afterAll(async () => {
  await Promise.all([sandbox.close(), production.close()]);
  await test.drop();
});

const policyOf = ({ headers }: Response) => headers.get('content-security-policy');

/** The parts of a page, each of which is served. */
async function partsOf(html: string, { url } = sandbox) {
  const parts = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, part = '']) => part);
  return Promise.all(
    parts.map(async (part) => {
      const answered = await fetch(url + part);
      expect([part, answered.status]).toEqual([part, 200]);
      expect((await answered.text()).length).toBeGreaterThan(100);
      const { headers } = answered;
      return { part, type: headers.get('content-type'), cached: headers.get('cache-control') };
    }),
  );
}

it.each(['/sandbox', '/sandbox/', '/console', '/console/'])(
  '%s may run and show nothing but our own parts, which a browser keeps for good',
  async (path) => {
    const page = await fetch(sandbox.url + path);
    expect(policyOf(page)).toBe(
      "default-src 'none';script-src 'self';style-src 'self';connect-src 'self';img-src 'self' data:;" +
        "base-uri 'none';form-action 'none';frame-ancestors 'none'",
    );
    const html = await page.text();
    expect(html).not.toMatch(/<script(?! type="module" src=)|<style|\sstyle=|\son\w+=|https?:/);
    const parts = await partsOf(html);
    // A browser takes no other type for a style or a script.
    expect(parts.map(({ type }) => type)).toEqual([
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
    ]);
    expect(parts.map(({ cached }) => cached)).toEqual(Array(2).fill('public, max-age=31536000, immutable'));
    expect((await fetch(`${sandbox.url}/pages/none.js`)).status).toBe(404);
  },
);

it('/docs may run and show nothing but our own parts, and an address that it has not is a 404', async () => {
  const page = await fetch(`${sandbox.url}/docs/guides/merchant`);
  expect(policyOf(page)).toBe(policyOf(await fetch(`${sandbox.url}/console`)));
  const html = await page.text();
  expect(await (await fetch(`${sandbox.url}/docs/guides/merchant/`)).text()).toBe(html);
  expect((await fetch(`${sandbox.url}/docs/`)).status).toBe(200);
  const [, ...parts] = await partsOf(html);
  expect(parts.length).toBeGreaterThan(50);
  const none = `${sandbox.url}/docs/console-dark.png`;
  for (const [accept, type] of [
    ['*/*', 'application/json; charset=utf-8'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
  ] as const) {
    const { status, headers } = await fetch(none, { headers: { accept } });
    expect([status, headers.get('content-type')]).toEqual([404, type]);
  }
  const image = await fetch(`${sandbox.url}/docs/images/console-dark.png`);
  expect(image.headers.get('content-type')).toBe('image/png');
  expect((await fetch(`${sandbox.url}/docs/..%2f..%2fpackage.json`)).status).toBe(404);
  expect(policyOf(await fetch(`${sandbox.url}/openapi.json`))).toContain('upgrade-insecure-requests');
});

const pathsIn = async ({ url }: ServedApi) => {
  const { openapi, paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    openapi: string;
    paths: object;
  };
  expect(openapi).toBe('3.1.0');
  return Object.keys(paths);
};

it('the document is open to everybody, and has the test clock in a sandbox alone', async () => {
  const inProduction = await pathsIn(production);
  expect(inProduction.length).toBeGreaterThan(40);
  const more = (await pathsIn(sandbox)).filter((path) => !inProduction.includes(path));
  expect(more.toSorted()).toEqual(['/v1/sandbox/clock', '/v1/sandbox/clock/advance']);
});

it('a sandbox is nowhere where no parties play, and the bare address leads to /docs then', async () => {
  expect((await fetch(`${production.url}/sandbox`)).status).toBe(404);
  expect((await fetch(`${production.url}/console`)).status).toBe(200);
  const { status, headers } = await fetch(production.url, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([302, '/docs']);
  const played = await fetch(sandbox.url, { redirect: 'manual' });
  expect(played.headers.get('location')).toBe('/sandbox');
});

it('the console, and all that is there for it, is unknown where the setting says so', async () => {
  const none = await serveApi(test.db, { settings: { ASSENT_CONSOLE: 'false' } });
  const unknown = await send(none.url, 'GET', '/nowhere');
  for (const [method, path] of [
    ['GET', '/console'],
    ['GET', '/console/session'],
    ['POST', '/console/session'],
    ['GET', '/console/api/v1/webhooks/deliveries'],
  ] as const) {
    const { status, body } = await send(none.url, method, path);
    expect([path, status, body]).toEqual([path, 404, unknown.body]);
  }
  await none.close();
});

it('the documentation has its look and its search where there is neither console nor sandbox', async () => {
  const none = await serveApi(test.db, { settings: { ASSENT_CONSOLE: 'false' } });
  const page = await fetch(`${none.url}/docs`);
  expect(await partsOf(await page.text(), none)).not.toEqual([]);
  await none.close();
});
