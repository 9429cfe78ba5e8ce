import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkKept } from '../database/chain/check';
import { dailyHeads, publicKeys, readHead, signerOf } from '../database/chain/head';
import { chainKeys } from '../database/chain/key';
import { isWhole, type Days, type Page } from '../database/compared';
import type { PublicJwk } from '../database/keys/signing-key';
import { balancesOf } from '../database/ledger/balance';
import {
  compareBooks,
  isOwnRing,
  keepResult,
  provenKeys,
  verify,
  type Found,
  type Means,
  type Verified,
} from '../database/verify';
import { parseDay } from '../domain/calendar';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { progress } from './progress';
import { tableOf } from './table';

/** SQLSTATE of a statement that writes on a server that only reads. */
const READ_ONLY = '25006';

interface Report extends Verified {
  ok: boolean;
  /** The first thing that is wrong. */
  first: Found | null;
}

interface Options {
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
      'compare the ledger with itself, with charges, refunds, reversals, exceptions and their webhooks, and all of it with its chains',
    ),
  )
    .option('--kept <file>', 'heads and keys that "books heads --json" has printed before: by these alone')
    .action(
      onEngine(async ({ db, ring }, config, { kept: file, ...options }: Options & { kept?: string }) => {
        const days = daysOf(options);
        const kept = file === undefined ? undefined : await readKept(file);
        const means: Means = {
          db,
          keys: kept ? publicKeys(kept.keys) : await provenKeys(db, ring),
          timeZone: config.NETWORK_TIMEZONE,
        };
        const verified = await verify(withKept(means, kept, days), ({ compared, differences }, check) =>
          progress.say(`${compared[check]} ${named(check)} compared, ${differences} differences`),
        );
        // An auditor's ring or kept heads, or a copy that only reads, say nothing of this service.
        const isOwn = await isOwnRing(db, means.keys);
        if (kept === undefined && isWhole(days) && isOwn) {
          await keepResult(db, verified).catch((error: unknown) => {
            if ((error as { code?: string }).code !== READ_ONLY) throw error;
          });
        }
        const [first = null] = verified.found;
        const report = { ok: verified.differences === 0, first, ...verified };
        if (!report.ok) process.exitCode = 1;
        return outcome(report);
      }, anyRing),
    );
  command(books, 'balances', 'what the accounts of a bank or merchant hold')
    .argument('<id>')
    .option('--to <day>', 'at the end of this day, as in 2026-11-01')
    .action(
      onEngine(async ({ db }, _config, partyId: string, { to }: Pick<Options, 'to'>) => {
        progress.say('the days of its accounts are added up');
        const balances = await balancesOf(db, partyId, daysOf({ ...(to !== undefined && { to }) }).to);
        const table = balances.map(({ account, currency, balance }) => [account, currency, balance]);
        return { json: { balances }, text: tableOf(['account', 'currency', 'balance'], table) };
      }, anyRing),
    );
  withDays(command(books, 'heads', 'the last signed head of each day, and the keys to judge them by')).action(
    onEngine(async ({ db, ring }, _config, options: Options) => {
      const { from, to } = daysOf(options);
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
function daysOf({ from, to }: Options): Days {
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

async function* withKept(
  means: Means,
  kept: Kept | undefined,
  days: Days,
): AsyncGenerator<Page, void, undefined> {
  yield* compareBooks(means, days);
  if (kept)
    yield* checkKept(
      means.db,
      kept.heads.map(({ jws }) => jws),
    );
}

const NAMES = new Map([
  ['ledgerChain', 'links of the ledger'],
  ['eventChain', 'links of events'],
  ['actChain', 'links of acts'],
  ['returns', 'returned refunds'],
]);

const named = (check: string) => NAMES.get(check) ?? check;

function outcome(report: Report): Outcome {
  const { compared, differences, first, found } = report;
  const counts = Object.entries(compared).map(([check, count]) => `${count} ${named(check)}`);
  const lines = found.map(inWords);
  lines.push(
    first === null
      ? `The books are right: ${counts.join(', ')}.`
      : `${differences} differences in ${counts.join(', ')}. The first: ${inWords(first)}.`,
  );
  return { json: report, text: lines.join('\n') };
}

const inWords = ({ check, id, what }: Found) => `${named(check)}: ${id}: ${what}`;

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
