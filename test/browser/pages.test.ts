import { sandboxRouter } from '../../src/sandbox/router';
import { Sandbox } from '../../src/sandbox/sandbox';
import { serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, openBrowser, takeProblems, type TestBrowser } from '../support/browser';
import { createTestDatabase, type TestDatabase } from '../support/database';

/* Pages without a story of their own, and the watch on every page. */

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
let parties: Sandbox;
beforeAll(async () => {
  test = await createTestDatabase();
  const cast = { shop: player('Mango Market'), bank: player('Lagoon Bank') };
  // Its parties call an API that is not there.
  parties = new Sandbox({ apiUrl: 'http://127.0.0.1:9', ...cast }, 'Africa/Lagos', {
    warn: () => undefined,
  });
  api = await serveApi(test.db, { sandbox: { url: 'http://localhost', routes: sandboxRouter(parties) } });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  parties.close();
  await api.close();
  await test.drop();
});

describe('a page', () => {
  it('/sandbox says why nothing can be done yet, and lets nobody try', async () => {
    const page = await browser.open(`${api.url}/sandbox`);
    await page.getByText('The shop and the bank are getting ready …').waitFor();
    expect(await page.getByRole('button', { name: 'Charge once' }).isDisabled()).toBe(true);
    await expectGoodPage(page);
    await page.close();
  });

  it('/docs shows each operation of a section, and asks nobody else', async () => {
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

  it('that anybody could not use, or that wants a part from elsewhere, is told from a good one to its end', async () => {
    const page = await browser.open(`${api.url}/console`);
    await page.getByLabel('Client id').waitFor();
    await expectGoodPage(page);
    const image = 'http://127.0.0.1:9/a.png';
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src="${image}">')`);
    await page.waitForFunction(`document.querySelector('img').complete`);
    const told = await expectGoodPage(page).then(String, String);
    expect(told).toContain('image-alt');
    expect(told).toContain(`policy: img-src ${image}`);

    // After the last look at it, too.
    const refused = page.waitForEvent('console', (message) => message.text().startsWith('policy: '));
    const thrown = page.waitForEvent('pageerror');
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img alt="" src="${image}">');
       setTimeout(() => { throw new Error('after the last look') })`,
    );
    await Promise.all([refused, thrown]);
    const later = takeProblems(page).join('\n');
    expect(later).toContain('uncaught: after the last look');
    expect(later).toContain(`policy: img-src ${image}`);
    expect(takeProblems(page)).toEqual([]);
  });
});
