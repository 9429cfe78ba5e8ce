import { createProgress } from '../../src/cli/output';
import { createProgram } from '../../src/cli/program';
import { changeEndpoint } from '../../src/database/entity-control/control-entity';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { announceAny } from '../support/announce-any';
import { claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import { chainBooks } from '../support/books';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { OPERATOR } from '../support/operator';
import { makeSchedule, standingApproval } from '../support/standing';
import { keyed } from '../support/keyring';

/** A terminal, while a command works and when it ends. */

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
const ring = readKeyring(OLD);
let test: TestDatabase;
let seen: { out: string; err: string };
const wasTerminal = { out: process.stdout.isTTY, err: process.stderr.isTTY };

beforeAll(async () => {
  test = await createTestDatabase();
  await makeSchedule(keyed(test.db, ring), await standingApproval(keyed(test.db, ring)));
  await chainBooks(keyed(test.db, ring));
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
  const { bankId } = await standingApproval(keyed(test.db, ring));
  await test.db.transaction((trx) =>
    changeEndpoint(keyed(trx, ring), OPERATOR, bankId, 'https://bank.example/hooks'),
  );
  const workflowId = `billing-batch/${bankId}`;
  await test.db.transaction((trx) =>
    announceAny(keyed(trx, ring), [
      { entityId: bankId, webhookType: 'billing.request', workflowId, items: [{ sequence: 1 }] },
    ]),
  );
  await claimUnattempted(test.db, workflowId, 3_000, WEBHOOK_TYPES);
  return bankId;
}

/** With a bar where the total is known. */
it.each([
  ['keys status', /\[#+ *\] +\d+ % customers\.phone_encrypted is counted/],
  ['keys reseal', /\[#+ *\] +\d+ % webhook_endpoints: 3 rows brought under \w+/],
  ['audit', /\d+ events? read/],
  ['books heads', /the heads are read/],
  ['books verify', /\d+ links of the ledger compared, 0 differences/],
  ['positions --date 2026-01-31', /the entries of the day are read/],
  ['entity disable <sent to>', /\[ *\] +0 % of 1 webhook on their way to it have left/],
])('assent %s says how far it is, and leaves no more than its outcome', async (words, says) => {
  const sentTo = words.includes('<sent to>') ? await bankBeingSentTo() : '';
  await assent(...words.replace('<sent to>', sentTo).split(' '));

  expect(seen.err).toMatch(says);
  // Each line was written over, the last by nothing.
  expect(seen.err.split('\r').at(-1)).toBe('');
  expect(seen.err.split('\r').at(-2)?.trim()).toBe('');
  expect(seen.err).toMatch(/^[\r\x20-\x7e]+$/);
  expect(seen.out).not.toBe('');
});

it('a command says its outcome and nothing else with --json', async () => {
  await assent('books', 'verify', '--json');

  expect(seen.err).toBe('');
  expect(JSON.parse(seen.out)).toEqual(expect.any(Object));
});

it('a table on a terminal has no colours, though the environment forces them', async () => {
  process.env['FORCE_COLOR'] = '1';
  await assent('entity', 'list');

  expect(seen.out).toContain('Merchant');
  expect(seen.out).not.toContain('\u001B');
});

/** The last line that progress writes, as a terminal shows it. */
function lineOf(columns: number | undefined, work: (progress: ReturnType<typeof createProgress>) => void) {
  let written = '';
  const write = (text: string) => Boolean((written += text));
  work(createProgress({ isTTY: true, write, ...(columns !== undefined && { columns }) }));
  return written.split('\r').reduce((line, text) => text + line.slice(text.length), '');
}

it.each([
  [0, 8, '[                    ]   0 % x'],
  [3, 8, '[#######             ]  37 % x'],
  [8, 8, '[####################] 100 % x'],
  // A file may have grown since it was measured, or be empty.
  [9, 8, '[####################] 100 % x'],
  [0, 0, '[####################] 100 % x'],
])('the bar of %i of %i', (done, of, line) => {
  expect(lineOf(undefined, (progress) => progress.part(done, of, 'x'))).toBe(line);
});

it('progress stays within a narrow terminal, where a longer line would leave a trail', () => {
  const line = lineOf(20, (progress) => progress.say('a line of more than twenty characters'));
  expect(line).toBe('a line of more than');
});
