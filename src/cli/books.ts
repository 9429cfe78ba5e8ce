import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { dailyHeads, publicKeys, readHead, signerOf, type StoredHead } from '../database/chain/head';
import { chainKeys, isOwnRing } from '../database/chain/key';
import type { PublicJwk } from '../database/keys/signing-key';
import { compareKeptHeads } from '../database/verify/compare-heads';
import { keepResult } from '../database/verify/night';
import type { Days, Pages } from '../database/verify/page';
import { compareBooks, provenKeys, verify, type Found, type Means } from '../database/verify/verify';
import { parseDay } from '../domain/calendar';
import { command, CommandError, onEngine } from './command';
import { anyRing } from './engine';
import { progress } from './progress';
import { tableOf } from './table';

/** SQLSTATE of a statement that writes on a server that only reads. */
const READ_ONLY = '25006';

/** What `books heads --json` has printed, and somebody has kept. */
interface Kept {
  keys: PublicJwk[];
  heads: { jws: string }[];
}

interface Options {
  from?: string;
  to?: string;
  kept?: string;
}

/** `assent books`: whether the ledger, and all that was written down, is right. */
export function addBooksCommands(program: Command): void {
  const books = program.command('books').description('the ledger, and the chains that prove it');
  command(
    books,
    'verify',
    'compare the ledger with itself, with charges, refunds, reversals, exceptions and their webhooks, and all of it with its chains',
  )
    .option('--from <day>', 'only from this day of the network’s zone on, as in 2026-11-01')
    .option('--to <day>', 'only up to this day')
    .option('--kept <file>', 'heads and keys that "books heads --json" has printed before: by these alone')
    .action(
      onEngine(async ({ db, ring }, config, { kept: file, ...options }: Options) => {
        const days = daysOf(options);
        const kept = file === undefined ? undefined : await readKept(file);
        const keys = kept ? publicKeys(kept.keys) : await provenKeys(db, ring);
        const means: Means = { db, keys, timeZone: config.NETWORK_TIMEZONE };
        const verified = await verify(compareAll(means, days, kept), ({ compared, differences }, check) =>
          progress.say(`${compared[check]} ${check} compared, ${differences} differences`),
        );
        // An auditor's ring or kept heads, or a copy that only reads, say nothing of this service.
        const isOwn = !kept && (await isOwnRing(db, ring));
        if (isOwn && days.from === null && days.to === null) {
          await keepResult(db, verified, null).catch((error: unknown) => {
            if ((error as { code?: string }).code !== READ_ONLY) throw error;
          });
        }
        const { compared, differences, found } = verified;
        const [first = null] = found;
        if (first) process.exitCode = 1;
        const counts = Object.entries(compared).map(([check, count]) => `${count} ${check}`);
        const end = first
          ? `${differences} differences in ${counts.join(', ')}. The first: ${inWords(first)}.`
          : `The books are right: ${counts.join(', ')}.`;
        return {
          json: { ok: first === null, first, ...verified },
          text: [...found.map(inWords), end].join('\n'),
        };
      }, anyRing),
    );
  command(books, 'heads', 'the last signed head of each day, and the keys to judge them by').action(
    onEngine(async ({ db, ring }) => {
      progress.say('the heads are read');
      const heads = await dailyHeads(db);
      const keys = await chainKeys(db, ring);
      return { json: { keys, heads: heads.map(shown) }, text: headsTable(heads) };
    }, anyRing),
  );
}

async function* compareAll(means: Means, days: Days, kept: Kept | undefined): Pages {
  yield* compareBooks(means, days);
  if (!kept) return;
  const heads = kept.heads.map(({ jws }) => jws);
  yield* compareKeptHeads(means.db, heads);
}

/** @throws CommandError */
function daysOf({ from = null, to = null }: { from?: string | null; to?: string | null }): Days {
  for (const [name, day] of Object.entries({ from, to })) {
    if (day !== null && !parseDay(day).ok)
      throw new CommandError(`--${name} is no day: write it as in 2026-11-01`);
  }
  if (from !== null && to !== null && from > to) throw new CommandError('--from is after --to');
  return { from, to };
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

const inWords = ({ check, id, what }: Found) => `${check}: ${id}: ${what}`;

function shown({ number, day, jws }: StoredHead) {
  return { number: Number(number), day, signedAt: readHead(jws)?.signedAt ?? null, jws };
}

function headsTable(heads: StoredHead[]): string {
  const table = heads.map(({ number, day, jws }) => {
    const { signedAt, tips } = readHead(jws) ?? {};
    return [day, String(number), signedAt, signerOf(jws), tips?.ledger?.n, tips?.events?.n, tips?.acts?.n];
  });
  return tableOf(['day', 'head', 'signed', 'key', 'ledger', 'events', 'acts'], table);
}
