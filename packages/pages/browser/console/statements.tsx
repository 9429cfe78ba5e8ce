import type { Position, Statement } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { go, to, type Address } from './address';
import { fileAt, query } from './api';
import { Choice } from './choice';
import { useSession } from './context';
import { useCounted } from './counted';
import { addDays, isDay, longDay } from './days';
import { counted, wholeNumber } from './figures';
import { Show, useLoaded } from './loaded';
import { Figure } from './parts';
import { Table } from './table';

export function Statements({ address: { parameters } }: { address: Address }) {
  const { currencies, today } = useSession();
  const named = parameters.get('date') ?? '';
  const date = isDay(named) ? named : addDays(today, -1);
  const currency = parameters.get('currency') ?? currencies[0] ?? '';
  const look = (at: { date?: string; currency?: string }) =>
    go(`${to('statements')}${query({ date, currency, ...at })}`);
  const asked = query({ date, currency });
  const statement = useLoaded<'getStatement'>(`/v1/statements${asked}`);
  const positions = useLoaded<'listPositions'>(`/v1/positions${query({ date })}`);
  return (
    <>
      <form class="card row fields" onSubmit={(event) => event.preventDefault()}>
        <label>
          Settlement day
          <input
            type="date"
            required
            value={date}
            onChange={(event) => event.currentTarget.value && look({ date: event.currentTarget.value })}
          />
        </label>
        {currencies.length > 1 && (
          <Choice
            name="Currency"
            value={currency}
            names={Object.fromEntries(currencies.map((one) => [one, one]))}
            choose={(one) => look({ currency: one })}
          />
        )}
        <button type="button" onClick={() => look({ date: addDays(date, -1) })}>
          Day before
        </button>
        <button type="button" onClick={() => look({ date: addDays(date, 1) })}>
          Day after
        </button>
      </form>
      <section class="card stack">
        <h2>
          Statement of {longDay(date)} in {currency}
        </h2>
        <Show loaded={statement} what="The statement">
          {(found) => (
            <>
              <Shown of={found} />
              <div class="row">
                <a
                  class="button first"
                  download
                  href={fileAt(`/v1/statements/${date}.csv${query({ currency })}`)}
                >
                  Download its lines as CSV
                </a>
                <a
                  class="button"
                  download={`statement-${date}-${currency}.json`}
                  href={fileAt(`/v1/statements${asked}`)}
                >
                  Download it as JSON
                </a>
              </div>
              {found.sha256 !== null && (
                <p class="quiet small">
                  SHA-256 of the CSV file: <span class="mono">{found.sha256}</span>
                </p>
              )}
            </>
          )}
        </Show>
      </section>
      <section class="card stack">
        <h2>Who owes whom</h2>
        <Show loaded={positions} what="The positions">
          {(found) => <Positions positions={found.positions} />}
        </Show>
      </section>
    </>
  );
}

const MOVED = [
  ['Charges', 'charges', 'charged'],
  ['Refunds', 'refunds', 'refunded'],
  ['Refunds that came back', 'refundReturns', 'returned'],
  ['Reversed', 'reversals', 'reversed'],
  ['Payments to customers', 'credits', 'credited'],
  ['Payments to customers reversed', 'creditsReversed', 'uncredited'],
  ['Written off', 'writeOffs', undefined],
  ['Written off, and booked after all', 'writeOffReturns', undefined],
] as const;

/** By the sign of a balance: 0, 1 and, from the end, -1. */
const OWED = ['nothing is owed', 'the network owes you', 'you owe the network'];

function Shown({ of: { exact, currency, date, ...found } }: { of: Statement }) {
  const sum = (amount: number, name: keyof NonNullable<Statement['exact']>) =>
    money({ amount, exact: exact?.[name] }, currency);
  const { role } = useSession();
  const at = useCounted(currency);
  return (
    <>
      <p>
        <span class={`badge ${found.final ? 'good' : 'wait'}`}>
          {found.final ? 'Final' : 'Not final yet'}
        </span>{' '}
        {!found.final && <span class="quiet small">More may still settle on this day.</span>}
      </p>
      <dl class="figures">
        <Figure name="Opening balance">{sum(found.openingBalance, 'openingBalance')}</Figure>
        {MOVED.map(([name, field, what]) => {
          const moved = found[field];
          if (moved === undefined || (field === 'credits' && role !== 'bank')) return null;
          const amount = sum(moved.amount, field);
          return (
            <Figure key={field} name={name} small={counted(moved.count, 'line')}>
              {what === undefined ? amount : <a href={at(what, date, date)}>{amount}</a>}
            </Figure>
          );
        })}
        <Figure name="Closing balance" small={OWED.at(Math.sign(found.closingBalance))}>
          {sum(found.closingBalance, 'closingBalance')}
        </Figure>
        <Figure name="Open exceptions">{wholeNumber(found.exceptionsOpen)}</Figure>
      </dl>
    </>
  );
}

const SIDES = [
  ['It owes you', 'owedToYou'],
  ['You owe it', 'owedByYou'],
  ['Net', 'net'],
] as const;

function Positions({ positions }: { positions: Position[] }) {
  return (
    <Table
      caption="Net positions of the day"
      rows={positions}
      keyOf={({ counterpartyId, currency }) => `${counterpartyId} ${currency}`}
      empty="Nothing settled on this day."
      columns={[
        {
          name: 'With',
          cell: ({ counterpartyId, counterpartyName }) => (
            <span title={counterpartyId}>{counterpartyName ?? 'The network'}</span>
          ),
        },
        ...SIDES.map(([name, field]) => ({
          name,
          number: true as const,
          cell: ({ exact, currency, ...one }: Position) =>
            money({ amount: one[field], exact: exact?.[field] }, currency),
        })),
      ]}
    />
  );
}
