import type { Page, Route } from 'playwright-core';
import { expectGoodPage, openBrowser, type TestBrowser } from '../support/browser';
import { eventually } from '../support/engine';
import { shareApi, type Caller, type Parties } from '../support/shared-api';

/* Payments in the console: what a clerk finds, sees become of them, and must not be misled by. */

const served = shareApi();
let browser: TestBrowser;
let parties: Parties;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  parties = await served.parties();
});

async function signedIn({ clientId, clientSecret }: Caller, address = 'payments'): Promise<Page> {
  const page = await browser.open(`${served.api.url}/console#/${address}`);
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/** Whatever the page does with what has arrived, it has done. */
const settle = (page: Page) =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

describe('the list of merchants to choose from', () => {
  const FIELD = { name: 'Merchant', exact: true };

  /** The page of a provider with merchants, and its questions for some, each held until it is let go. */
  async function asking() {
    const merchants = ['Merry Shop', 'Mercy Shop', 'Salt'].map((name) => ({
      name,
      email: 'shop@example.test',
      clientRef: name,
    }));
    await parties.provider.post('/v1/provider/merchants', { merchants });
    const page = await signedIn(parties.provider);
    const held: Route[] = [];
    const field = page.getByRole('combobox', FIELD);
    const offered = page.getByRole('listbox', { name: 'Merchants' }).getByRole('option');
    await field.click();
    await offered.nth(4).waitFor();
    await page.route('**/v1/merchants/search', (asked) => void held.push(asked));
    const type = async (text: string) => {
      await page.keyboard.type(text);
      await eventually(() => Promise.resolve(held.length === text.length));
      await settle(page);
    };
    const release = async (n: number) => {
      const answered = page.waitForResponse('**/v1/merchants/search');
      await held[n]?.continue();
      await (await answered).finished();
      await settle(page);
    };
    return { page, field, type, release, names: () => offered.allTextContents() };
  }

  it('stays between two keystrokes, with the names alone that begin so', async () => {
    const { page, type, release, names } = await asking();
    await type('mer');
    expect(await names()).toEqual(['Merchant', 'Mercy Shop', 'Merry Shop']);
    await expectGoodPage(page);
    await release(2);
    expect(await names()).toEqual(['Merchant', 'Mercy Shop', 'Merry Shop']);
  });

  it('is of what was typed last, though an earlier answer comes later', async () => {
    const { type, release, names } = await asking();
    await type('mercy');
    await release(4);
    expect(await names()).toEqual(['Mercy Shop']);
    await release(0);
    expect(await names()).toEqual(['Mercy Shop']);
  });

  it('is no risk to who presses Enter before the answer: what was typed is chosen', async () => {
    const { page, field, type } = await asking();
    await type('merr');
    await page.keyboard.press('Enter');
    await page.waitForURL(/merchantId=mch_/);
    await eventually(async () => (await field.inputValue()) === 'Merry Shop');
    expect(page.url()).not.toContain(parties.merchantId);
  });
});
