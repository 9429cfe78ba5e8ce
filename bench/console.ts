import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { Operator } from '../examples/demo/operator';
import { launchBrowser } from '../examples/pictures/find-browser';
import { benchEnvironment, startEngine } from './engine';

/**
 * `npm run bench:console`: how long the console's first page takes to show the figures of a
 * merchant and of its bank, who have a million charges in this month, from nothing in the browser's
 * cache; and how long the API takes to answer what it asks for.
 */

const CHARGES = 1_000_000;
/** One in twenty is declined. */
const DECLINED_EACH = 20;
const LOADS = 20;
const CALLS = 100;
const SHOWN_WITHIN_MS = 60_000;

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  const environment = benchEnvironment({
    RATE_LIMIT_TOKEN: '50/100',
    RATE_LIMIT_CALLER: '1000/1000',
  });
  const engine = await startEngine(environment, { apis: 1, workers: 1 }, say, interrupted.signal);
  const browser = await launchBrowser();
  try {
    const operator = new Operator(engine.folder, environment);
    const bank = await operator.createEntity('bank', 'Bank');
    const merchant = await operator.createEntity('merchant', 'Merchant');
    await post(engine.apiUrl, await tokenOf(engine.apiUrl, bank), { customers: [PERSON] });
    say(`${CHARGES} charges …`);
    await insertCharges(engine.ownerUrl, bank.entityId, merchant.entityId);
    const told: Record<string, object> = {};
    for (const [role, party] of Object.entries({ merchant, bank })) {
      told[role] = {
        summaryMs: await timed(engine.apiUrl, await tokenOf(engine.apiUrl, party), '/v1/summary'),
        ...(await loads(browser, engine.apiUrl, party)),
      };
    }
    process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
  } finally {
    await browser.close();
    await engine.stop();
  }
}

interface Party {
  clientId: string;
  clientSecret: string;
}

/** From the beginning of the navigation, by the browser's own clock. */
async function loads(browser: Browser, apiUrl: string, { clientId, clientSecret }: Party): Promise<object> {
  const first = await browser.newContext();
  const page = await first.newPage();
  page.setDefaultTimeout(SHOWN_WITHIN_MS);
  await page.goto(`${apiUrl}/console`);
  await page.getByLabel('Client id').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.figures').first().waitFor();
  const storageState = await first.storageState();
  await first.close();

  const painted: number[] = [];
  const figures: number[] = [];
  for (let n = 0; n < LOADS; n++) {
    const context = await browser.newContext({ storageState });
    const fresh = await context.newPage();
    fresh.setDefaultTimeout(SHOWN_WITHIN_MS);
    await fresh.addInitScript(NOTE_FIGURES);
    await fresh.goto(`${apiUrl}/console`);
    await fresh.locator('.figures').first().waitFor();
    const at = await fresh.evaluate<{ paint: number; figures: number }>(TIMES);
    painted.push(at.paint);
    figures.push(at.figures);
    await context.close();
  }
  return { firstPaintMs: spread(painted), figuresMs: spread(figures) };
}

const NOTE_FIGURES = `new MutationObserver((_, all) => {
  if (document.querySelector('.figures') === null) return;
  all.disconnect();
  requestAnimationFrame(() => setTimeout(() => performance.mark('figures')));
}).observe(document, { childList: true, subtree: true })`;

const TIMES = `new Promise((tell) => {
  const look = () => {
    const [mark] = performance.getEntriesByName('figures');
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    if (mark && paint) tell({ paint: paint.startTime, figures: mark.startTime });
    else setTimeout(look, 20);
  };
  look();
})`;

async function timed(apiUrl: string, token: string, path: string): Promise<object> {
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const start = performance.now();
    const answered = await fetch(`${apiUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    await answered.text();
    if (answered.status !== 200) throw new Error(`${path} was answered with ${answered.status}`);
    times.push(performance.now() - start);
  }
  return spread(times);
}

function spread(times: number[]): object {
  const inOrder = times.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(inOrder[Math.floor((inOrder.length - 1) * part)] ?? 0);
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}

const PERSON = {
  clientRef: 'c1',
  firstname: 'Ada',
  lastname: 'Obi',
  accountName: 'OBI ADA',
  email: 'ada@example.com',
  country: 'NG',
  accountNumber: '0123456789',
};

async function post(apiUrl: string, token: string, body: object): Promise<void> {
  const answered = await fetch(`${apiUrl}/v1/bank/customers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answered.ok) throw new Error(`no customer was made: ${answered.status}`);
}

async function tokenOf(apiUrl: string, { clientId, clientSecret }: Party): Promise<string> {
  const answered = await fetch(`${apiUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  return ((await answered.json()) as { access_token: string }).access_token;
}

/** Evenly over the days of this month, as they would be after as many of business. */
async function insertCharges(ownerUrl: string, bankId: string, merchantId: string): Promise<void> {
  const client = new Client(ownerUrl);
  await client.connect();
  try {
    await client.query(
      `WITH span AS (SELECT clock_timestamp() AS now,
         clock_timestamp() - date_trunc('month', clock_timestamp() AT TIME ZONE 'Africa/Lagos') AT TIME ZONE 'Africa/Lagos' AS past)
       INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, amount, currency, description, approval_required, status, closed_by, bank_transaction_id,
         decline_reason, expires_at, closed_at, workflow_id, created_at)
       SELECT 'brq_' || lpad(n::text, 26, '0'), 'txn_' || lpad(n::text, 26, '0'), 'R' || lpad(n::text, 20, '0'),
         'bat_' || lpad(n::text, 26, '0'), $1, c.id, $2, c.lookup_id, 10000, 'NGN', 'Subscription', true,
         CASE WHEN declined THEN 'declined' ELSE 'successful' END, 'bank', CASE WHEN NOT declined THEN 'FT' || n END,
         CASE WHEN declined THEN 'insufficient_funds' END, at, at, 'billing-request/' || n, at
       FROM (SELECT id, lookup_id FROM customers WHERE bank_id = $2 LIMIT 1) AS c, span,
         generate_series(0, $3::int - 1) AS n,
         LATERAL (SELECT now - past * (n::float8 / $3) AS at, n % $4::int = 0 AS declined) AS one`,
      [merchantId, bankId, CHARGES, DECLINED_EACH],
    );
    // What guards each entry by itself would take longer than all that is measured.
    await client.query(`
      ALTER TABLE ledger_entries DISABLE TRIGGER USER;
      BEGIN;
      INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day)
        SELECT 'charge', id, closed_at, (closed_at AT TIME ZONE 'Africa/Lagos')::date
        FROM billing_requests WHERE status = 'successful';
      INSERT INTO ledger_postings (entry_id, n, party_id, account, currency, direction, amount)
        SELECT e.id, side.n, side.party, side.account, 'NGN', side.direction, 10000
        FROM ledger_entries e, LATERAL (VALUES
          (1, ${client.escapeLiteral(bankId)}, 'customer_bank', 'debit'),
          (2, ${client.escapeLiteral(merchantId)}, 'merchant', 'credit')) AS side (n, party, account, direction);
      COMMIT;
      ALTER TABLE ledger_entries ENABLE TRIGGER USER`);
    // As the API's sweep does each minute.
    await client.query('SELECT fold_ledger_balances($1)', [2 * CHARGES]);
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
