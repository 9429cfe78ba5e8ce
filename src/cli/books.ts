import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkChains, checkKept } from '../database/chain/check';
import { dailyHeads, publicKeys, readHead, signerOf, type PublicKeys } from '../database/chain/head';
import { chainKeys } from '../database/chain/key';
import type { Compared, Range } from '../database/compared';
import type { Database } from '../database/connection';
import { compareDailyTotals } from '../database/daily-total-check';
import type { Keyring } from '../database/keys/keyring';
import type { PublicJwk } from '../database/keys/signing-key';
import { balancesOf } from '../database/ledger/balance';
import { compareLedger } from '../database/ledger/check';
import { comparePeriods } from '../database/ledger/period-check';
import { compareTrails } from '../database/trail';
import { parseDay } from '../domain/calendar';
import { faultWords, NOT_COMPARED, type FaultWords } from '../domain/words/verify-words';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { compareStatements } from './kept-statement';
import { progress } from './progress';
import { tableOf } from './table';

/**
 * Most differences that are told one by one, the first ones: whoever has more has one cause to look
 * for.
 */
const LISTED_MAX = 100;

type Found = { check: string; id: string } & FaultWords;

interface Verified {
  ok: boolean;
  /** How many of each were looked at. */
  compared: Record<string, number>;
  /** How many of each could not be, and why. */
  notCompared: Record<string, { count: number; why: string }>;
  differences: number;
  /** The first thing that is wrong. */
  first: Found | null;
  /** The first of them all. */
  found: Found[];
}

interface Days {
  from?: string;
  to?: string;
}

/** What `books heads --json` has printed, and somebody has kept. */
interface Kept {
  keys: PublicJwk[];
  heads: { jws: string }[];
}

/** `assent books`: whether the ledger, and all that was written down, is right. */
export function addBooksCommands(program: Command): void {
  const books = program.command('books').description('the ledger, and the chains that prove it');
  withDays(
    command(
      books,
      'verify',
      'compare the ledger with charges, refunds, limits, trails, balances, daily totals and statements, and all of it with its chains',
    ),
  )
    .option('--kept <file>', 'heads and keys that "books heads --json" has printed before: by these alone')
    .action(
      onEngine(async ({ db, ring }, config, { kept: file, ...days }: Days & { kept?: string }) => {
        const range = { ...rangeOf(days), timeZone: config.NETWORK_TIMEZONE };
        const kept = file === undefined ? undefined : await readKept(file);
        const report = await verify(allOf(db, await trusted(db, ring, kept), kept, range));
        if (!report.ok) process.exitCode = 1;
        return outcome(report);
      }, anyRing),
    );
  command(books, 'balances', 'what the accounts of a bank or merchant hold')
    .argument('<id>')
    .option('--to <day>', 'at the end of this day, as in 2026-11-01')
    .action(
      onEngine(async ({ db }, _config, partyId: string, { to }: Pick<Days, 'to'>) => {
        progress.say('the days of its accounts are added up');
        const balances = await balancesOf(db, partyId, rangeOf({ ...(to !== undefined && { to }) }).to);
        const table = balances.map(({ account, currency, balance }) => [account, currency, balance]);
        return { json: { balances }, text: tableOf(['account', 'currency', 'balance'], table) };
      }, anyRing),
    );
  withDays(command(books, 'heads', 'the last signed head of each day, and the keys to judge them by')).action(
    onEngine(async ({ db, ring }, _config, days: Days) => {
      const { from, to } = rangeOf(days);
      progress.say('the heads are read');
      const heads = await dailyHeads(db, { from: from ?? '-infinity', to: to ?? 'infinity' });
      const keys = await chainKeys(db, ring);
      return { json: { keys, heads: heads.map(shown) }, text: headsTable(heads) };
    }, anyRing),
  );
}

function withDays(of: Command): Command {
  return of
    .option('--from <day>', 'only from this day of the network’s zone on, as in 2026-11-01')
    .option('--to <day>', 'only up to this day');
}

/** @throws CommandError */
function rangeOf({ from, to }: Days): Pick<Range, 'from' | 'to'> {
  for (const [name, day] of Object.entries({ from, to })) {
    if (day !== undefined && !parseDay(day).ok)
      throw new CommandError(`--${name} is no day: write it as in 2026-11-01`);
  }
  if (from !== undefined && to !== undefined && from > to) throw new CommandError('--from is after --to');
  return { from: from ?? null, to: to ?? null };
}

/** The file is at most some megabytes: a head of each day. */
async function readKept(file: string): Promise<Kept> {
  try {
    const { keys, heads } = JSON.parse(await readFile(file, 'utf8')) as Partial<Kept>;
    if (!Array.isArray(keys) || !Array.isArray(heads)) throw new Error('it has no keys, or no heads');
    // Made here, so that what is none is found before anything is compared.
    publicKeys(keys);
    return { keys, heads };
  } catch (cause) {
    throw new CommandError(`--kept: ${file} is not what "assent books heads --json" prints`, { cause });
  }
}

/** What heads may be signed with: what somebody has kept, or what the ring proves to be ours. */
async function trusted(db: Database, ring: Keyring, kept: Kept | undefined): Promise<PublicKeys> {
  if (kept) return publicKeys(kept.keys);
  return publicKeys(await chainKeys(db, ring));
}

async function* allOf(
  db: Database,
  keys: PublicKeys,
  kept: Kept | undefined,
  range: Range,
): AsyncGenerator<Compared, void, undefined> {
  yield* checkChains(db, keys, range);
  if (kept)
    yield* checkKept(
      db,
      kept.heads.map(({ jws }) => jws),
    );
  yield* compareLedger(db, range);
  yield* compareDailyTotals(db, range);
  yield* compareTrails(db, range);
  yield* comparePeriods(db, range);
  yield* compareStatements(db, range, (lines, { party, date }) =>
    progress.say(`${lines} lines of the statement of ${party.entityId} on ${date}`),
  );
}

async function verify(all: AsyncIterable<Compared>): Promise<Verified> {
  const report: Omit<Verified, 'ok' | 'first'> = { compared: {}, notCompared: {}, differences: 0, found: [] };
  for await (const { check, checked, differences, notCompared } of all) {
    const total = (report.compared[check] ?? 0) + checked;
    report.compared[check] = total;
    if (notCompared) {
      const count = (report.notCompared[check]?.count ?? 0) + notCompared.count;
      report.notCompared[check] = { count, why: NOT_COMPARED[notCompared.why] };
    }
    report.differences += differences.length;
    report.found.push(...differences.map((one) => ({ check, id: one.id, ...faultWords(one) })));
    report.found.splice(LISTED_MAX);
    progress.say(`${total} ${named(check)} compared, ${report.differences} differences`);
  }
  return { ok: report.differences === 0, first: report.found[0] ?? null, ...report };
}

const NAMES = new Map([
  ['ledgerChain', 'links of the ledger'],
  ['eventChain', 'links of events'],
  ['actChain', 'links of acts'],
  ['totals', 'daily totals'],
  ['chargeTrails', 'trails of charges'],
  ['refundTrails', 'trails of refunds'],
  ['reversalTrails', 'trails of reversals'],
  ['exceptionTrails', 'trails of exceptions'],
  ['intentTrails', 'trails of intents'],
  ['scheduleTrails', 'trails of schedules'],
  ['agreementTrails', 'trails of agreements'],
  ['trails', 'events'],
  ['periods', 'months that were closed'],
  ['statements', 'statements whose SHA-256 is kept'],
]);

const named = (check: string) => NAMES.get(check) ?? check;

function outcome(report: Verified): Outcome {
  const { compared, notCompared, differences, first, found } = report;
  const counts = Object.entries(compared).map(([check, count]) => `${count} ${named(check)}`);
  const lines = found.map(inWords);
  for (const [check, { count, why }] of Object.entries(notCompared)) {
    lines.push(`Not compared: ${count} ${named(check)}: ${why}.`);
  }
  lines.push(
    first === null
      ? `The books are right: ${counts.join(', ')}.`
      : `${differences} differences in ${counts.join(', ')}. The first: ${inWords(first)}.`,
  );
  return { json: report, text: lines.join('\n') };
}

const inWords = ({ check, id, what, todo }: Found) =>
  `${named(check)}: ${id}: ${what}${todo === undefined ? '' : `; ${todo}`}`;

function shown({ number, day, jws }: { number: bigint; day: string; jws: string }) {
  return { number: Number(number), day, signedAt: readHead(jws)?.signedAt ?? null, jws };
}

function headsTable(heads: { number: bigint; day: string; jws: string }[]): string {
  const head = ['day', 'head', 'signed', 'key', 'ledger', 'events', 'acts'];
  const table = heads.map(({ number, day, jws }) => {
    const { signedAt, tips } = readHead(jws) ?? {};
    return [day, String(number), signedAt, signerOf(jws), tips?.ledger.n, tips?.events.n, tips?.acts.n];
  });
  return tableOf(head, table);
}
