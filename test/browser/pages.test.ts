import { sandboxRouter } from '../../packages/sandbox/src/router';
import { Sandbox } from '../../packages/sandbox/src/sandbox';
import { serveApi, type ServedApi } from '../support/api';
import { expectGoodPage, shareBrowser, tabTo, takeProblems } from '../support/browser';
import { createTestDatabase, type TestDatabase } from '../support/database';

/* Pages without a story of their own, and the watch on every page. */

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
const browser = shareBrowser();
let parties: Sandbox;
beforeAll(async () => {
  test = await createTestDatabase();
  const cast = { shop: player('Mango Market'), bank: player('Lagoon Bank') };
  // Its parties call an API that is not there.
  parties = new Sandbox({ apiUrl: 'http://127.0.0.1:9', ...cast }, 'Africa/Lagos', {
    warn: () => undefined,
  });
  api = await serveApi(test.db, { sandbox: { url: 'http://localhost', routes: sandboxRouter(parties) } });
});
afterAll(async () => {
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

  it.each([
    ['/sandbox', 'Documentation', 'Bill customers through their bank'],
    ['/console', 'How the console works', 'The finance console'],
  ])('%s leads a newcomer to the documentation', async (at, name, title) => {
    const page = await browser.open(`${api.url}${at}`);
    await page.getByRole('link', { name }).click();
    const heading = page.getByRole('heading', { name: title, level: 1 });
    await expect(heading.waitFor()).resolves.toBeUndefined();
    await page.close();
  });

  it('/docs is searched by keyboard, and leads to what was found', async () => {
    const page = await browser.open(`${api.url}/docs`);
    await expectGoodPage(page);
    await page.keyboard.press('/');
    await page.keyboard.type('how do I cancel');
    await page.getByRole('option').first().filter({ hasText: 'Cancel a schedule' }).waitFor();
    await page.getByRole('combobox').fill('');
    await page.keyboard.type('initiate a refu');
    await page.getByRole('option', { name: 'Initiate a refund' }).waitFor();
    await expectGoodPage(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/reference/refunds#initiateRefund');
  });

  it('/docs/reference has each call in three languages, and keeps which and how dark', async () => {
    const page = await browser.open(`${api.url}/docs/reference`);
    await page.getByRole('heading', { name: 'Get an access token' }).waitFor();
    const [collection] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'A collection' }).click(),
    ]);
    expect(collection.suggestedFilename()).toBe('assent-bruno.zip');
    await page.goto(`${api.url}/docs/reference/billing`);
    const call = page.locator('#billCustomers');
    await call.getByText('curl "$ASSENT/v1/customer/bill"').waitFor();
    await call.getByRole('tab', { name: 'TypeScript' }).click();
    await call.getByText("assent.call('billCustomers'").waitFor();
    expect(await call.getByText('curl "$ASSENT').isVisible()).toBe(false);
    await call.getByRole('tab', { name: 'Python' }).click();
    await call.getByText('f"{ASSENT}/v1/customer/bill"').waitFor();
    await expectGoodPage(page);

    await page.getByRole('button', { name: 'Dark' }).click();
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.goto(`${api.url}/docs/quickstart`);
    expect(await ground()).toBe(dark);
    await page.getByRole('button', { name: 'Light' }).click();
    expect(await ground()).not.toBe(dark);
    await expectGoodPage(page);
  });

  it('/docs says of an address without a page where there is more, by keyboard too', async () => {
    const page = await browser.open(`${api.url}/docs/guides/merchants`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect(takeProblems(page)).toEqual([`404 for ${api.url}/docs/guides/merchants`]);
    await expectGoodPage(page);
    await tabTo(page.getByRole('link', { name: 'search the documentation' }));
    await page.keyboard.press('Enter');
    await page.keyboard.type('initiate a refu');
    await page.getByRole('option', { name: 'Initiate a refund' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'begin at the start' }).click();
    await page.getByRole('heading', { name: 'Bill customers through their bank' }).waitFor();
    await page.goto(`${api.url}/docs/`);
    await page.getByRole('heading', { name: 'Bill customers through their bank' }).waitFor();
  });

  it('that anybody could not use, or that wants a part from elsewhere, is told from a good one to its end', async () => {
    const page = await browser.open(`${api.url}/console`);
    await page.getByRole('button', { name: 'Use your passkey' }).waitFor();
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
