import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { findBrowser, launchBrowser } from '../../examples/pictures/find-browser';
import { oncePerRun } from './once-per-run';

/*
 * Pages in a real browser. Whatever goes wrong on a page that was opened here is kept, from its
 * first byte on: an error in its console, a request to another host, what its policy refused, an
 * answer of 500. `expectGoodPage` tells of it, and so does the end of each test, of every page:
 *
 *     const browser = shareBrowser();
 *     const page = await browser.open(`${api.url}/console`);  // a context of its own: no one's cookies
 *     await page.getByRole('button', { name: 'Sign in' }).click();
 *     await expectGoodPage(page);                             // as it stands now, with content in it
 *
 * A second page that shares the cookies: `browser.open(url, page)`. What a test means to go wrong
 * it takes: `expect(takeProblems(page)).toEqual([…])`.
 */

export interface TestBrowser {
  /** @param beside a page whose cookies it shares */
  open(url: string, beside?: Page): Promise<Page>;
  close(): Promise<void>;
}

/** Text shows within some tens of milliseconds, and in many more on a busy machine. */
const SHOWN_WITHIN_MS = 30_000;
const INSTALLED_WITHIN_MS = 200_000;
const WIDE = { width: 1280, height: 900 };
const MEDIUM = { width: 768, height: 1024 };
const NARROW = { width: 360, height: 740 };
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const CONTRAST = 'color-contrast';

interface Look {
  name: string;
  viewport: typeof WIDE;
  colorScheme: 'light' | 'dark';
  /** Options of axe, which is asked where they are given. */
  rules?: object;
}

/** The width changes no colour, and another scheme nothing but colours. */
const LOOKS: Look[] = [
  { name: 'wide, light', viewport: WIDE, colorScheme: 'light', rules: { runOnly: LEVELS } },
  {
    name: 'wide, dark',
    viewport: WIDE,
    colorScheme: 'dark',
    rules: { runOnly: { type: 'rule', values: [CONTRAST] } },
  },
  { name: 'medium, light', viewport: MEDIUM, colorScheme: 'light' },
  {
    name: 'narrow, light',
    viewport: NARROW,
    colorScheme: 'light',
    rules: { runOnly: LEVELS, rules: { [CONTRAST]: { enabled: false } } },
  },
];

/** The problems of each page that was opened, also of a page that is closed by now. */
const problems = new Map<Page, string[]>();

/** Takes the problems of a page since the last look. */
export function takeProblems(page: Page): string[] {
  return problems.get(page)?.splice(0) ?? ['it was not opened by a test browser'];
}

function expectNoProblem(): void {
  expect([...problems.keys()].flatMap(takeProblems)).toEqual([]);
}

afterEach(expectNoProblem);
// A page may do something after the last test, or belong to a hook.
afterAll(expectNoProblem);

/** @throws OperatorError where there is no browser and none can be installed */
export async function openBrowser(): Promise<TestBrowser> {
  // Two at once would wait for one lock, and one of them give up.
  await oncePerRun('browser', installBrowser);
  const browser = await launchBrowser();
  return {
    async open(url, beside) {
      const page = await newPage(browser, beside);
      await page.goto(url);
      return page;
    },
    close: () => browser.close(),
  };
}

/** The browser of a test file. */
export function shareBrowser(): Pick<TestBrowser, 'open'> {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  return { open: (url, beside) => browser.open(url, beside) };
}

/**
 * Brings Chromium by apt-get, for root alone; for others launching says what to install.
 *
 * @returns whether there is a browser now
 */
async function installBrowser(): Promise<boolean> {
  if ((await isThere()) || process.getuid?.() !== 0) return isThere();
  await apt('update')
    .then(() => apt('install', '--yes', '--no-install-recommends', 'chromium-headless-shell'))
    .catch(() => undefined);
  return isThere();
}

const isThere = () =>
  findBrowser().then(
    () => true,
    () => false,
  );

async function apt(...args: string[]): Promise<void> {
  await promisify(execFile)('apt-get', ['-qq', ...args], { timeout: INSTALLED_WITHIN_MS });
}

async function newPage(browser: Browser, beside: Page | undefined): Promise<Page> {
  const context =
    beside?.context() ??
    (await browser.newContext({
      viewport: WIDE,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
    }));
  const page = await context.newPage();
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  const seen: string[] = [];
  problems.set(page, seen);
  page.on('console', (message) => {
    // The page itself says why a call was refused; `response` tells of a missing part.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) seen.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => seen.push(`uncaught: ${error.message}`));
  page.on('response', (response) => {
    const isCall = ['fetch', 'xhr', 'eventsource'].includes(response.request().resourceType());
    if (response.status() >= (isCall ? 500 : 400)) seen.push(`${response.status()} for ${response.url()}`);
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    const own = request.isNavigationRequest() || origin === new URL(page.url()).origin;
    if (/^https?:$/.test(protocol) && !own) seen.push(`a request to ${origin}`);
  });
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) =>
       console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`,
  );
  return page;
}

/** The parts of a browser's globals that are looked at there; Node has none of them. */
interface Globals {
  document: { activeElement: Element };
  getComputedStyle: (this: void, at: Element) => { outlineStyle: string };
}

interface Element {
  outerHTML: string;
  matches(selector: string): boolean;
}

/** Runs in the page. @param found where the focus is to come */
function lookAtFocus(found: unknown[]): { hasArrived: boolean; isSeen: boolean; html: string } {
  const { document, getComputedStyle } = globalThis as unknown as Globals;
  const { activeElement: at } = document;
  // From the last the way to the first leads through the browser's own, as it does within a date.
  const isSeen = at.matches('body, [type=date]') || getComputedStyle(at).outlineStyle !== 'none';
  return { hasArrived: found.includes(at), isSeen, html: isSeen ? '' : at.outerHTML };
}

/** More than any page has of what Tab stops at. */
const TABS_MAX = 150;

/**
 * Presses Tab until it has come there.
 *
 * @throws Error where it does not, or where nobody sees how it does
 */
export async function tabTo(there: Locator): Promise<void> {
  const page = there.page();
  await there.first().waitFor();
  for (let n = 0; n < TABS_MAX; n++) {
    await page.keyboard.press('Tab');
    const { hasArrived, isSeen, html } = await there.evaluateAll(lookAtFocus);
    if (!isSeen) throw new Error(`nobody sees that this has the focus: ${html}`);
    if (hasArrived) return;
  }
  throw new Error(`the keyboard does not reach ${String(there)}`);
}

/**
 * Nothing has gone wrong since the page was opened: no error in its console, no request to another
 * host, nothing that its policy refused. And as it stands now anybody can use it: WCAG 2.2 AA, as
 * far as axe can tell, and nothing to be scrolled sideways, in light and dark, wide, medium and
 * narrow.
 *
 * @param lacks what a page that others have made has not: rules of axe, and `reflow`
 */
export async function expectGoodPage(page: Page, lacks: readonly string[] = []): Promise<void> {
  const before = page.viewportSize();
  const found: string[] = [];
  if (await page.evaluate<boolean>(`typeof axe === 'undefined'`)) await page.evaluate(axe.source);
  for (const { name, viewport, colorScheme, rules } of LOOKS) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const tooWide = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (tooWide > 0 && !lacks.includes('reflow')) found.push(`${name}: ${tooWide} px wider than the screen`);
    if (rules === undefined) continue;
    const options = JSON.stringify({ ...rules, resultTypes: ['violations'] });
    const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
    const held = violations.filter(({ id }) => !lacks.includes(id));
    found.push(
      ...held.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${name}: ${id} at ${node.target.join(' ')}: ${node.failureSummary}`),
      ),
    );
  }
  await page.emulateMedia({ colorScheme: null });
  if (before) await page.setViewportSize(before);
  expect([...takeProblems(page), ...found]).toEqual([]);
}

/**
 * Gives a page an authenticator, whose passkeys it keeps.
 *
 * @param isUserVerified whether its user can open its lock
 */
export async function giveAuthenticator(
  page: Page,
  isUserVerified = true,
  transport: 'internal' | 'usb' = 'internal',
) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
}
