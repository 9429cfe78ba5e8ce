import { createProgram } from '../../src/cli/program';
import { rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { chainBooks } from '../support/books';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { makeSchedule, standingApproval, type Standing } from '../support/standing';

/** What an operator sees who calls a command on a terminal, while it works and when it ends. */

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
const ring = readKeyring(OLD);
let test: TestDatabase;
let standing: Standing;
let seen: { out: string; err: string };
const wasTerminal = { out: process.stdout.isTTY, err: process.stderr.isTTY };

beforeAll(async () => {
  test = await createTestDatabase();
  standing = await standingApproval(test.db, ring);
  await makeSchedule(test.db, ring, standing);
  await chainBooks(test.db, ring);
  Object.assign(process.env, {
    DATABASE_URL: test.url,
    ASSENT_KEYS: `${NEW},${OLD}`,
    ASSENT_MODE: 'sandbox',
  });
});
beforeEach(() => {
  seen = { out: '', err: '' };
  for (const [name, stream] of [
    ['out', process.stdout],
    ['err', process.stderr],
  ] as const) {
    stream.isTTY = true;
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      seen[name] += String(text);
      return true;
    });
  }
});
afterEach(() => {
  jest.restoreAllMocks();
  Object.assign(process.stdout, { isTTY: wasTerminal.out });
  Object.assign(process.stderr, { isTTY: wasTerminal.err });
});
afterAll(() => test.drop());

const assent = (...words: string[]) => createProgram(words[0]).parseAsync(words, { from: 'user' });

/** A bank that somebody is sending a webhook to, for as long as a test need wait for it. */
async function bankBeingSentTo(): Promise<string> {
  const { bankId } = await standingApproval(test.db, ring);
  await rows(
    test.db,
    `UPDATE webhook_endpoints SET url = 'https://bank.example/hooks' WHERE entity_id = :bankId`,
    { bankId },
  );
  const workflowId = `billing-batch/${bankId}`;
  await test.db.transaction((trx) =>
    announce(trx, ring, [
      { entityId: bankId, webhookType: 'billing.request', workflowId, items: [{ sequence: 1 }] },
    ]),
  );
  await claimUnattempted(test.db, workflowId, 3_000);
  return bankId;
}

/** With a bar where it is known how much there is. */
const LONG: { words: string; says: RegExp }[] = [
  { words: 'keys status', says: /\[#+ *\] +\d+ % customers\.phone_encrypted is counted/ },
  { words: 'keys reseal', says: /\[#+ *\] +\d+ % webhook_endpoints: 3 rows brought under \w+/ },
  { words: 'audit', says: /\d+ events? read/ },
  { words: 'books heads', says: /the heads are read/ },
  { words: 'books verify', says: /\d+ links of the ledger compared, 0 differences/ },
  { words: 'positions --date 2026-01-31', says: /the entries of the day are read/ },
  { words: 'entity disable <sent to>', says: /\[ *\] +0 % of 1 webhook on their way to it have left/ },
];

it.each(LONG)(
  'assent $words says how far it is, and leaves no more than its outcome',
  async ({ words, says }) => {
    const sentTo = words.includes('<sent to>') ? await bankBeingSentTo() : '';
    const given = words.replace('<bank>', standing.bankId).replace('<sent to>', sentTo).split(' ');
    await assent(...given);

    expect(seen.err).toMatch(says);
    // Each line was written over, the last by nothing.
    expect(seen.err.split('\r').at(-1)).toBe('');
    expect(seen.err.split('\r').at(-2)?.trim()).toBe('');
    expect(seen.err).not.toContain('\n');
    expect(seen.out).not.toBe('');
  },
);

it.each(['keys reseal', 'keys status', 'audit', 'books verify'])(
  'assent %s --json says its outcome and nothing else',
  async (words) => {
    await assent(...words.split(' '), '--json');

    expect(seen.err).toBe('');
    expect(JSON.parse(seen.out)).toEqual(expect.any(Object));
  },
);

it.each([{ NO_COLOR: '1' }, { FORCE_COLOR: '1' }])(
  'a table on a terminal has no colours, with %j',
  async (asks) => {
    Object.assign(process.env, asks);
    await assent('entity', 'list');

    expect(seen.out).toContain(standing.bankId);
    expect(seen.out).not.toContain('\u001B');
  },
);
