import { Option, type Command } from 'commander';
import { writeCsv } from '../api/http/download';
import type { Database } from '../database/connection';
import { listEntities } from '../database/entity/entity';
import { readNetworkPositions, type NetworkDay, type NetworkPosition } from '../database/ledger/position';
import { parseDay } from '../domain/calendar';
import { minorUnitDigits } from '../domain/currency';
import { groupBy } from '../domain/group';
import { shownSums, sumInFull, sumsInFull } from '../domain/money';
import { command, CommandError, onEngineWriting } from './command';
import { progress } from './progress';
import { write } from './standard-output';
import { tableOf } from './table';

/**
 * `assent positions`: who owes whom of what settled on a day, of all parties, and whether that adds
 * up to zero.
 */

/** Some 150 MB of memory; on a day of most networks there are a hundredth of that. */
const POSITIONS_MAX = 200_000;

/** A table is laid out whole, and nobody reads more of it. The other forms have all. */
const TABLE_ROWS_MAX = 1_000;

interface Given {
  date: string;
  currency?: string;
  csv?: boolean;
  json?: boolean;
}

interface Told {
  of: NetworkDay;
  final: boolean;
  positions: Line[];
  /** Of all positions of a currency. */
  totals: Line[];
}

const NUMBERS = ['owedToIt', 'owedByIt', 'net'] as const;
const COLUMNS = ['partyId', 'name', 'counterpartyId', 'currency', ...NUMBERS] as const;

interface Line extends Omit<NetworkPosition, 'owedToIt' | 'owedByIt'> {
  /** Of the party; the network has none. */
  name: string;
  /** Minor units. */
  sums: Record<(typeof NUMBERS)[number], bigint>;
}

export function addPositionsCommand(program: Command): void {
  command(program, 'positions', 'who owes whom of what settled on a day, of all parties, and their sum')
    .requiredOption('--date <day>', 'a settlement day of the network’s zone, as in 2026-11-01')
    .option('--currency <code>', 'only in this currency, as in NGN')
    .addOption(new Option('--csv', 'print all of them as CSV').conflicts('json'))
    .action(
      onEngineWriting(async ({ db }, { NETWORK_TIMEZONE: timeZone }, given: Given) => {
        if (given.json) progress.silence();
        const told = await readAll(db, { ...dayOf(given), timeZone });
        progress.end();
        if (given.json) await write(`${JSON.stringify(inJson(told))}\n`);
        else if (given.csv) await writeFile(told);
        else await writeTable(told);
        const wrong = told.totals.filter((total) => !isRight(total));
        if (wrong.length > 0) throw notRight(told.of.date, wrong);
      }),
    );
}

/** @throws CommandError */
function dayOf({ date, currency }: Given): Pick<NetworkDay, 'date' | 'currency'> {
  if (!parseDay(date).ok) throw new CommandError('--date is no day: write it as in 2026-11-01');
  if (currency !== undefined && minorUnitDigits(currency) === undefined) {
    throw new CommandError('--currency is no currency of ISO 4217: write its code, as in NGN');
  }
  return { date, currency: currency ?? null };
}

/** @throws CommandError where there are too many */
async function readAll(db: Database, of: NetworkDay): Promise<Told> {
  progress.say('the entries of the day are read');
  const { final, positions } = await readNetworkPositions(db, of, POSITIONS_MAX, (entries) =>
    progress.say(`${entries} entries read`),
  );
  if (positions === null) {
    throw new CommandError(
      `there are more than ${POSITIONS_MAX} positions on ${of.date}: narrow it with --currency, or have each party ask for its own`,
    );
  }
  const names = new Map((await listEntities(db)).map(({ entityId, name }) => [entityId, name]));
  return {
    of,
    final,
    positions: positions.map((one) => ({ ...one, name: names.get(one.partyId) ?? '', sums: sumsOf([one]) })),
    totals: [...groupBy(positions, ({ currency }) => currency)].map(([currency, all]) => ({
      partyId: 'total',
      name: '',
      counterpartyId: '',
      currency,
      sums: sumsOf(all),
    })),
  };
}

function sumsOf(positions: NetworkPosition[]): Line['sums'] {
  const owedToIt = positions.reduce((sum, one) => sum + one.owedToIt, 0n);
  const owedByIt = positions.reduce((sum, one) => sum + one.owedByIt, 0n);
  return { owedToIt, owedByIt, net: owedToIt - owedByIt };
}

const isRight = ({ sums }: Line) => sums.net === 0n;

function notRight(date: string, wrong: Line[]): CommandError {
  const currencies = wrong.map(({ currency }) => currency);
  return new CommandError(
    `the positions of ${date} are not right (${currencies.join(', ')}): ` +
      `"assent books verify --from ${date} --to ${date}" names the entries that do not balance. ` +
      `Settle nothing in ${currencies.join(' or ')} for that day until then.`,
  );
}

const shown = ({ currency, sums }: Line) => ({ currency, ...shownSums(sums, currency) });

function inJson({ of: { date, timeZone: timezone }, final, positions, totals }: Told) {
  return {
    date,
    timezone,
    final,
    ok: totals.every(isRight),
    totals: totals.map(shown),
    positions: positions.map((one) => {
      const { partyId, name, counterpartyId } = one;
      return { partyId, name, counterpartyId, ...shown(one) };
    }),
  };
}

const inFull = ({ sums, ...line }: Line) => ({ ...line, ...sumsInFull(sums, line.currency) });

/** The file alone is on standard output; what is said of it is beside it. */
async function writeFile(told: Told): Promise<void> {
  const pages = (async function* () {
    yield [...told.positions, ...told.totals].map(inFull);
  })();
  await writeCsv({ columns: COLUMNS, numbers: NUMBERS, pages }, process.stdout);
  process.stderr.write(`${[finality(told), ...verdicts(told)].join('\n')}\n`);
}

async function writeTable(told: Told): Promise<void> {
  const { positions, totals } = told;
  const listed = positions.slice(0, TABLE_ROWS_MAX);
  const head = ['party', 'name', 'counterparty', 'currency', 'is owed', 'owes', 'net'];
  const table = [...listed, ...totals].map((line) => {
    const cells = inFull({ ...line, counterpartyId: line.counterpartyId ?? 'none' });
    return COLUMNS.map((column) => cells[column]);
  });
  const lines = [finality(told), ...(positions.length > 0 ? [tableOf(head, table)] : []), ...verdicts(told)];
  await write(`${lines.join('\n')}\n`);
  if (listed.length < positions.length) {
    process.stderr.write(
      `These are the first ${TABLE_ROWS_MAX} of ${positions.length} positions: have all with --csv or --json.\n`,
    );
  }
}

const finality = ({ of: { date }, final }: Told) =>
  `The positions of ${date} are ${final ? 'final' : 'not final yet'}.`;

function verdicts({ of, totals }: Told): string[] {
  if (totals.length === 0) {
    return [
      `Nobody owes anybody anything${of.currency === null ? '' : ` in ${of.currency}`} of what settled then.`,
    ];
  }
  return totals.map(({ currency, sums: { net } }) => {
    const sum =
      net === 0n ? 'zero over the network' : `${sumInFull(net, currency)} over the network, and not to zero`;
    return `${currency}: the positions add up to ${sum}.`;
  });
}
