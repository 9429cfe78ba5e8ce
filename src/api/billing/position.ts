import { readPositions, type Position } from '../../database/ledger/read-positions';
import { readFinality } from '../../database/ledger/read-statement';
import { onDay } from '../../domain/books/statement';
import { invalidRequest } from '../../domain/failures';
import { shownSums, sumsInFull } from '../../domain/money';
import { ANYONE } from '../http/callers';
import type { QueryCall } from '../http/call';
import { section } from '../http/route';
import { positionsQuery, positionsShown } from './statement';

/** Net positions: who owes whom of what settled on a day. */

/** Some hundred bytes each: a megabyte of JSON. */
const LISTED_MAX = 10_000;
/** Far more counterparties than a network has. */
const FILE_MAX = 100_000;

const NUMBERS = ['owedToYou', 'owedByYou', 'net'] as const;
const COLUMNS = ['counterpartyId', 'currency', ...NUMBERS] as const;

async function listPositions({ caller, query, prefersCsv, deps }: QueryCall<typeof positionsQuery>) {
  const { date, format } = query;
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    return {
      fileName: `positions-${date}.csv`,
      columns: COLUMNS,
      numbers: NUMBERS,
      pages: (async function* () {
        const positions = await readPositions(deps.db, caller, date, FILE_MAX);
        yield positions.map(inDecimals);
      })(),
    };
  }
  const timezone = deps.config.NETWORK_TIMEZONE;
  // Finality is read first, so that the positions of a final day are complete.
  const { final } = await readFinality(deps.db, onDay(date), caller);
  const found = await readPositions(deps.db, caller, date, LISTED_MAX + 1);
  if (found.length > LISTED_MAX) {
    const message = `there are more than ${LISTED_MAX} positions: take them as a file, with format=csv`;
    throw invalidRequest([{ path: 'query.format', message }]);
  }
  return {
    message: `${found.length} ${found.length === 1 ? 'position' : 'positions'}`,
    data: { date, timezone, final, positions: found.map(shown) },
  };
}

const sumsOf = ({ owedToIt, owedByIt }: Position) => ({
  owedToYou: owedToIt,
  owedByYou: owedByIt,
  net: owedToIt - owedByIt,
});

const shown = (one: Position) => ({
  counterpartyId: one.counterpartyId,
  counterpartyName: one.counterpartyName,
  currency: one.currency,
  ...shownSums(sumsOf(one), one.currency),
});

const inDecimals = (one: Position) => ({ ...one, ...sumsInFull(sumsOf(one), one.currency) });

export const positionRoutes = [
  section('Statements')('get', '/v1/positions', {
    id: 'listPositions',
    summary: 'List net positions',
    description:
      'Who owes whom of what settled on one day: one entry for each counterparty and currency. Your debt to a counterparty is its claim on you, so that the positions of all banks and merchants add up to nothing. For a provider its merchants are taken together. With `format=csv` or the header `Accept: text/csv` the answer is a CSV file; as JSON there are at most 10 000.',
    takes: { ...ANYONE, query: positionsQuery },
    answers: { 200: { description: '1 position', data: positionsShown, csv: 'offered' } },
    handle: listPositions,
  }),
];
