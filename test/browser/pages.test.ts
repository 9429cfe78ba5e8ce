import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { sandboxRouter } from '../../src/sandbox/router';
import { Sandbox } from '../../src/sandbox/sandbox';
import { send, serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, takeProblems, type TestBrowser } from '../support/browser';
import { createTestDatabase, type TestDatabase } from '../support/database';

/* What holds of every page, whatever it shows. */

const noParties: RequestHandler = (_req, _res, next) => next();
const sandbox = { url: 'http://localhost', routes: noParties };

/**
 * Swagger UI is made by others. Its badges are too pale, links and their copies stand close in the
 * line of an operation that is a button itself, its one list of servers has no name, and samples
 * are wider than a phone.
 */
const SWAGGER_UI_LACKS = [
  'color-contrast',
  'nested-interactive',
  'target-size',
  'select-name',
  'scrollable-region-focusable',
  'reflow',
];

/** A party that no network knows. */
const player = (name: string) => ({
  name,
  entityId: name,
  clientId: 'cli_1',
  clientSecret: 'sec_1',
  webhookSecret: `whsec_${Buffer.alloc(32).toString('base64')}`,
});

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, { sandbox });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

/** With whatever `Host` is wanted, which `fetch` does not let one choose. */
async function read(path: string, headers: Record<string, string>) {
  const asked = request(api.url + path, { headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

describe('a page', () => {
  it.each([
    ['/sandbox', 'Assent sandbox'],
    ['/console', 'Assent console'],
  ])('%s shows in a browser, whatever its size and colours, and asks nobody else', async (path, heading) => {
    const page = await browser.open(api.url + path);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await expectGoodPage(page);
  });

  it.each(['/sandbox/acts/advance', '/console/session'])(
    'alone may call %s: no other site, nor one that came without TLS where the page has it',
    async (path) => {
      const host = new URL(api.url).host;
      const status = async (headers: Record<string, string>) =>
        (await send(api.url, 'POST', path, {}, headers)).status;
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'http://elsewhere.example' },
        { origin: `https://${host}` },
        {},
      ] as Record<string, string>[]) {
        expect([headers, await status(headers)]).toEqual([headers, 403]);
      }
      expect(await status({ origin: `http://${host}` })).toBe(path.startsWith('/sandbox') ? 404 : 400);
    },
  );

  it('of the sandbox is read by no site that has its name lead here, nor by one in another tab', async () => {
    expect(await read('/sandbox/events', { host: 'shop.example.com' })).toBe(403);
    expect(await read('/sandbox/events', { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await read('/sandbox/events', {})).toBe(404);
    expect(await read('/console', { 'sec-fetch-site': 'cross-site' })).toBe(200);
  });

  it('of the console, and all that is there for it, is unknown where the setting says so', async () => {
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

  it('/sandbox says why nothing can be done yet, and lets nobody try', async () => {
    const parties = { shop: player('Mango Market'), bank: player('Lagoon Bank') };
    const nowhere = new Sandbox({ apiUrl: 'http://127.0.0.1:9', ...parties }, 'Africa/Lagos', {
      warn: () => undefined,
    });
    const waiting = await serveApi(test.db, { sandbox: { ...sandbox, routes: sandboxRouter(nowhere) } });
    try {
      const page = await browser.open(`${waiting.url}/sandbox`);
      await page.getByText('The shop and the bank are getting ready …').waitFor();
      expect(await page.getByRole('button', { name: 'Charge once' }).isDisabled()).toBe(true);
      await expectGoodPage(page);
      await page.close();
    } finally {
      nowhere.close();
      await waiting.close();
    }
  });

  it('/docs shows each operation of a section, and asks nobody else', async () => {
    const policy = (await fetch(`${api.url}/docs`)).headers.get('content-security-policy');
    expect(policy).toBe(
      "default-src 'self';base-uri 'self';font-src 'self' data:;form-action 'self';frame-ancestors 'self';" +
        "img-src 'self' data:;object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' 'unsafe-inline'",
    );
    const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { tags: string[] }>>;
      webhooks: object;
    };
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const billing = operations.filter(({ tags }) => tags.includes('Billing'));
    expect(billing.length).toBeGreaterThan(1);

    const page = await browser.open(`${api.url}/docs`);
    await page.getByRole('link', { name: 'Billing', exact: true }).click();
    await page.getByRole('button', { name: 'post /v1/customer/bill', exact: true }).click();
    await page.getByText('paymentIDs').first().waitFor();
    const shown = billing.length + Object.keys(document.webhooks).length;
    expect(await page.locator('.opblock').count()).toBe(shown);
    await expectGoodPage(page, SWAGGER_UI_LACKS);
  });

  it('that anybody could not use, or that wants a part from elsewhere, is told from a good one', async () => {
    const page = await browser.open(`${api.url}/console`);
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src="http://127.0.0.1:9/a.png">')`,
    );
    await page.waitForFunction(`document.querySelector('img').complete`);
    const told = await expectGoodPage(page).then(String, String);
    expect(told).toContain('image-alt');
    expect(told).toContain('policy: img-src http://127.0.0.1:9');
  });

  it('is watched to the end of its test, whether or not anybody looks at it again', async () => {
    const page = await browser.open(`${api.url}/console`);
    await page.getByLabel('Client id').waitFor();
    await expectGoodPage(page);
    const refused = page.waitForEvent('console', (message) => message.text().startsWith('policy: '));
    const thrown = page.waitForEvent('pageerror');
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img alt="" src="http://127.0.0.1:9/a.png">');
       setTimeout(() => { throw new Error('after the last look') })`,
    );
    await Promise.all([refused, thrown]);
    const told = takeProblems(page).join('\n');
    expect(told).toContain('uncaught: after the last look');
    expect(told).toContain('policy: img-src http://127.0.0.1:9');
    expect(takeProblems(page)).toEqual([]);
  });

  it.each(['/sandbox', '/console'])(
    '%s may run and show nothing but our own parts, which a browser keeps for good',
    async (path) => {
      const page = await fetch(api.url + path);
      expect(page.headers.get('content-security-policy')).toBe(
        "default-src 'none';script-src 'self';style-src 'self';connect-src 'self';img-src 'self' data:;" +
          "base-uri 'none';form-action 'none';frame-ancestors 'none'",
      );
      const html = await page.text();
      expect(html).not.toMatch(/<script(?! type="module" src=)|<style|\sstyle=|\son\w+=|https?:/);
      const parts = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, part]) => part);
      expect(parts).toHaveLength(2);
      for (const part of parts) {
        const answered = await fetch(`${api.url}${part}`);
        expect([part, answered.status, answered.headers.get('cache-control')]).toEqual([
          part,
          200,
          'public, max-age=31536000, immutable',
        ]);
      }
      expect((await fetch(`${api.url}/pages/none.js`)).status).toBe(404);
    },
  );

  it('of a sandbox is nowhere where no parties play', async () => {
    const without = await serveApi(test.db);
    try {
      expect((await fetch(`${without.url}/sandbox`)).status).toBe(404);
      expect((await fetch(`${without.url}/console`)).status).toBe(200);
    } finally {
      await without.close();
    }
  });
});
