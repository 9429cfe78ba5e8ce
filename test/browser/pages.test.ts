import type { RequestHandler } from 'express';
import { serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { createTestDatabase, type TestDatabase } from '../support/database';

/* What holds of every page, whatever it shows. */

const noParties: RequestHandler = (_req, _res, next) => next();

let test: TestDatabase;
let api: ServedApi;
let browser: TestBrowser;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, { sandbox: noParties });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await api.close();
  await test.drop();
});

describe('a page', () => {
  it.each([
    ['/sandbox', 'Assent sandbox'],
    ['/console', 'Assent console'],
  ])('%s shows in a browser, whatever its size and colours, and asks nobody else', async (path, heading) => {
    const page = await browser.open(api.url + path);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await expectGoodPage(page);
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

  it('may run and show nothing but our own parts, which a browser keeps for good', async () => {
    const page = await fetch(`${api.url}/console`);
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
  });

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
