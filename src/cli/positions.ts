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
import { onEngine, takingJson } from './command';
import { anyRing } from './engine';
import { dayOption, parsedOption } from './options';
import { partyCell, progress, shortName, TABLE_ROWS_MAX, tableOf } from './output';

/** Some 150 MB of memory; on a day of most networks there are a hundredth of that. */
const POSITIONS_MAX = 200_000;

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
      onEngine(async (db, { NETWORK_TIMEZONE: timeZone }, asked: { date?: string; currency?: string }) => {
        const currency = asked.currency ?? null;
        const date = asked.date ?? addDays(calendarDay(new Date(), timeZone), -1);
        const { final, positions } = await readAll(db, { date, currency });
        const totals = [...groupBy(positions, (one) => one.currency)].map(([of, all]) => ({
          currency: of,
          sums: sumsOf(all),
        }));
        const wrong = totals.filter(({ sums }) => sums.net !== 0n).map((total) => total.currency);
        if (wrong.length > 0) sayWrong(date, wrong);
        const parties = positions.flatMap((one) => [one.partyId, one.counterpartyId ?? one.partyId]);
        const names = await entityNames(db, [...new Set(parties)]);
        return {
          json: {
            date,
            timezone: timeZone,
            final,
            ok: wrong.length === 0,
            totals: totals.map(({ sums, ...total }) => ({ ...total, ...shownSums(sums, total.currency) })),
            positions: positions.map((one) => ({
              partyId: one.partyId,
              name: names.get(one.partyId) ?? '',
              counterpartyId: one.counterpartyId,
              counterpartyName: one.counterpartyName,
              currency: one.currency,
              ...shownSums(sumsOf([one]), one.currency),
            })),
          },
          text: [
            `The positions of ${date} are ${final ? 'final' : 'not final yet'}.`,
            ...(positions.length > 0
              ? inWords(positions, totals, names)
              : [
                  `Nobody owes anybody anything${currency === null ? '' : ` in ${currency}`} of what settled then.`,
                ]),
          ].join('\n'),
        };
      }, anyRing),
    );
}

interface Total {
  currency: string;
  sums: ReturnType<typeof sumsOf>;
}

async function readAll(db: Database, of: NetworkDay) {
  progress.say('the entries of the day are read');
  const { final, positions } = await readNetworkPositions(db, of, {
    atMost: POSITIONS_MAX,
    heartbeat: (entries) => progress.say(`${entries} entries read`),
  });
  if (positions === null) {
    throw new OperatorError(
      `there are more than ${POSITIONS_MAX} positions on ${of.date}: narrow it with --currency, or have each party ask for its own`,
    );
  }
  return { final, positions };
}

function sumsOf(positions: NetworkPosition[]) {
  const owedToIt = positions.reduce((sum, one) => sum + one.owedToIt, 0n);
  const owedByIt = positions.reduce((sum, one) => sum + one.owedByIt, 0n);
  return { owedToIt, owedByIt, net: owedToIt - owedByIt };
}

function sayWrong(date: string, currencies: string[]): void {
  process.exitCode = 1;
  process.stderr.write(
    `assent: the positions of ${date} are not right (${currencies.join(', ')}): ` +
      `"assent books verify --from ${date} --to ${date}" names the entries that do not balance. ` +
      `Settle nothing in ${currencies.join(' or ')} for that day until then.\n`,
  );
}

function inWords(
  positions: NetworkPosition[],
  totals: Total[],
  names: ReadonlyMap<string, string>,
): string[] {
  const cellsOf = (party: string, counterparty: string, { currency, sums }: Total) => {
    const { owedToIt, owedByIt, net } = sumsInFull(sums, currency);
    return [party, counterparty, currency, owedToIt, owedByIt, net];
  };
  const named = (id: string) => shortName(names.get(id) ?? id);
  const rows = positions.slice(0, TABLE_ROWS_MAX).map((one) => {
    const { partyId, counterpartyId, currency } = one;
    return cellsOf(partyCell(names.get(partyId), partyId), named(counterpartyId ?? 'none'), {
      currency,
      sums: sumsOf([one]),
    });
  });
  const head = ['party', 'counterparty', '', 'is owed', 'owes', 'net'];
  return [
    tableOf(head, [...rows, ...totals.map((total) => cellsOf('total', '', total))]),
    ...totals.map(({ currency, sums: { net } }) =>
      net === 0n
        ? `${currency}: the positions add up to zero over the network.`
        : `${currency}: the positions add up to ${sumInFull(net, currency)} over the network, and not to zero.`,
    ),
    ...(rows.length < positions.length
      ? [`These are the first ${TABLE_ROWS_MAX} of ${positions.length} positions: have all with --json.`]
      : []),
  ];
}
