import type { Command } from 'commander';
import type { Database } from '../database/pool/connection';
import { entityNames } from '../database/entity/create-entity';
import {
  readNetworkPositions,
  type NetworkDay,
  type NetworkPosition,
} from '../database/ledger/read-positions';
import { addDays, calendarDay } from '../domain/calendar';
import { minorUnitDigits } from '../domain/currency';
import { OperatorError } from '../domain/failures';
import { groupBy } from '../domain/group';
import { shownSums, sumInFull, sumsInFull } from '../domain/money';
import { accept, refuse } from '../domain/parsed';
import { onEngine, takingJson, type Outcome } from './command';
import { anyRing } from './engine';
import { dayOption, parsedOption } from './options';
import { progress, shortName, tableOf } from './output';

/** Some 150 MB of memory; on a day of most networks there are a hundredth of that. */
const POSITIONS_MAX = 200_000;

/** A table is laid out whole in memory, and no person reads more rows. JSON has all. */
const TABLE_ROWS_MAX = 1_000;

/** A position with the party's name, or the sum of all positions of a currency. */
interface Line extends Omit<NetworkPosition, 'owedToIt' | 'owedByIt'> {
  name: string;
  counterparty: string;
  /** Minor units. */
  sums: { owedToIt: bigint; owedByIt: bigint; net: bigint };
}

interface PositionsOfDay {
  of: NetworkDay;
  final: boolean;
  positions: Line[];
  totals: Line[];
}

/**
 * `assent positions`: who owes whom of what settled on a day, of all parties, and whether that adds
 * up to zero.
 */
export function fill(command: Command): void {
  takingJson(command)
    .addOption(dayOption('--date <day>', 'a settlement day of the network’s zone; left out, yesterday'))
    .addOption(
      parsedOption('--currency <code>', 'only in this currency, as in NGN', (given) =>
        minorUnitDigits(given) === undefined
          ? refuse('is no currency of ISO 4217: write its code, as in NGN')
          : accept(given),
      ),
    )
    .action(
      onEngine(async ({ db }, { NETWORK_TIMEZONE: timeZone }, { date: day, currency = null }: Asked) => {
        const date = day ?? addDays(calendarDay(new Date(), timeZone), -1);
        const found = await readAll(db, { date, currency, timeZone });
        const wrong = found.totals.filter((total) => !isRight(total)).map((total) => total.currency);
        if (wrong.length > 0) sayWrong(date, wrong);
        return outcome(found);
      }, anyRing),
    );
}

interface Asked {
  date?: string;
  currency?: string | null;
}

/** @throws OperatorError where there are too many */
async function readAll(db: Database, of: NetworkDay): Promise<PositionsOfDay> {
  progress.say('the entries of the day are read');
  const { final, positions } = await readNetworkPositions(db, of, POSITIONS_MAX, (entries) =>
    progress.say(`${entries} entries read`),
  );
  if (positions === null) {
    throw new OperatorError(
      `there are more than ${POSITIONS_MAX} positions on ${of.date}: narrow it with --currency, or have each party ask for its own`,
    );
  }
  const names = await entityNames(db);
  return {
    of,
    final,
    positions: positions.map((one) => ({
      ...one,
      name: names.get(one.partyId) ?? '',
      counterparty: names.get(one.counterpartyId ?? '') ?? one.counterpartyId ?? 'none',
      sums: sumsOf([one]),
    })),
    totals: [...groupBy(positions, ({ currency }) => currency)].map(([currency, all]) => ({
      partyId: 'total',
      name: '',
      counterpartyId: '',
      counterparty: '',
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

function sayWrong(date: string, currencies: string[]): void {
  process.exitCode = 1;
  process.stderr.write(
    `assent: the positions of ${date} are not right (${currencies.join(', ')}): ` +
      `"assent books verify --from ${date} --to ${date}" names the entries that do not balance. ` +
      `Settle nothing in ${currencies.join(' or ')} for that day until then.\n`,
  );
}

const shown = ({ currency, sums }: Line) => ({ currency, ...shownSums(sums, currency) });

function outcome(found: PositionsOfDay): Outcome {
  const { of, final, positions, totals } = found;
  return {
    json: {
      date: of.date,
      timezone: of.timeZone,
      final,
      ok: totals.every(isRight),
      totals: totals.map(shown),
      positions: positions.map((one) => {
        const { partyId, name, counterpartyId } = one;
        return { partyId, name, counterpartyId, ...shown(one) };
      }),
    },
    text: inWords(found),
  };
}

function inWords({ of: { date, currency }, final, positions, totals }: PositionsOfDay): string {
  const listed = positions.slice(0, TABLE_ROWS_MAX);
  const head = ['party', 'counterparty', '', 'is owed', 'owes', 'net'];
  const table = [...listed, ...totals].map(({ partyId, name, counterparty, sums, ...line }) => {
    const { owedToIt, owedByIt, net } = sumsInFull(sums, line.currency);
    const party = name === '' ? partyId : `${shortName(name)}\n${partyId}`;
    return [party, shortName(counterparty), line.currency, owedToIt, owedByIt, net];
  });
  const verdicts = totals.map((line) => {
    const sum = isRight(line)
      ? 'zero over the network'
      : `${sumInFull(line.sums.net, line.currency)} over the network, and not to zero`;
    return `${line.currency}: the positions add up to ${sum}.`;
  });
  const nothing = `Nobody owes anybody anything${currency === null ? '' : ` in ${currency}`} of what settled then.`;
  return [
    `The positions of ${date} are ${final ? 'final' : 'not final yet'}.`,
    ...(positions.length > 0 ? [tableOf(head, table), ...verdicts] : [nothing]),
    ...(listed.length < positions.length
      ? [`These are the first ${TABLE_ROWS_MAX} of ${positions.length} positions: have all with --json.`]
      : []),
  ].join('\n');
}
