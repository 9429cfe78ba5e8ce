import type { Position, Statement, StatementDay } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { go, to, type Address } from './address';
import { fileAt, query } from './api';
import { Choice } from './choice';
import { useSession } from './context';
import { useCounted } from './counted';
import {
  addDays,
  firstOfMonth,
  isDay,
  isMonth,
  lastOfMonth,
  longDay,
  monthBeside,
  monthIn,
  monthOf,
} from './days';
import { counted, wholeNumber } from './figures';
import { Show, useLoaded } from './loaded';
import { Figure } from './parts';
import { Table } from './table';

const beside = (period: string, by: 1 | -1) =>
  isMonth(period) ? monthBeside(period, by) : addDays(period, by);

/** A day, or a month as in `2026-11`. */
function periodOf(parameters: URLSearchParams, today: string): string {
  const month = parameters.get('month') ?? '';
  if (isMonth(month)) return month;
  const date = parameters.get('date') ?? '';
  return isDay(date) ? date : addDays(today, -1);
}

const named = (period: string) => (isMonth(period) ? { month: period } : { date: period });

/** The latest day of a month that is over. */
function dayOf(month: string, today: string): string {
  const last = lastOfMonth(firstOfMonth(month));
  return last < today ? last : addDays(today, -1);
}

/** Older months are reached by their buttons. */
const MONTHS_OFFERED = 24;

function periodNames(period: string, today: string): Record<string, string> {
  const months = [monthIn(today)];
  while (months.length < MONTHS_OFFERED) months.push(monthBeside(months.at(-1) ?? '', -1));
  if (isMonth(period)) months.push(period);
  return { day: 'A day', ...Object.fromEntries(months.map((one) => [one, monthOf(firstOfMonth(one))])) };
}

export function Statements({ address: { parameters } }: { address: Address }) {
  const { currencies, today } = useSession();
  const period = periodOf(parameters, today);
  const isDaily = !isMonth(period);
  const currency = parameters.get('currency') ?? currencies[0] ?? '';
  const look = (at: string, inCurrency = currency) =>
    go(`${to('statements')}${query({ ...named(at), currency: inCurrency })}`);
  return (
    <>
      <form class="card row fields" onSubmit={(event) => event.preventDefault()}>
        <Choice
          name="Statement of"
          value={isDaily ? 'day' : period}
          names={periodNames(period, today)}
          choose={(one) => look(one === 'day' ? dayOf(period, today) : one)}
        />
        {isDaily && (
          <label>
            Settlement day
            <input
              type="date"
              required
              value={period}
              onChange={({ currentTarget: { value } }) => isDay(value) && look(value)}
            />
          </label>
        )}
        {currencies.length > 1 && (
          <Choice
            name="Currency"
            value={currency}
            names={Object.fromEntries(currencies.map((one) => [one, one]))}
            choose={(one) => look(period, one)}
          />
        )}
        <button type="button" onClick={() => look(beside(period, -1))}>
          {isDaily ? 'Day' : 'Month'} before
        </button>
        <button type="button" onClick={() => look(beside(period, 1))}>
          {isDaily ? 'Day' : 'Month'} after
        </button>
      </form>
      <StatementOf period={period} asked={query({ ...named(period), currency })} currency={currency} />
      {isDaily && <WhoOwesWhom date={period} />}
    </>
  );
}

interface Asked {
  period: string;
  /** The query that asks for it. */
  asked: string;
  currency: string;
}

function StatementOf({ period, asked, currency }: Asked) {
  const statement = useLoaded<'getStatement'>(`/v1/statements${asked}`);
  return (
    <section class="card stack">
      <h2>
        Statement of {isMonth(period) ? monthOf(firstOfMonth(period)) : longDay(period)} in {currency}
      </h2>
      <Show loaded={statement} what="The statement">
        {(found) => (
          <>
            <Shown of={found} />
            <div class="row">
              <a
                class="button first"
                download
                href={fileAt(`/v1/statements/${period}.csv${query({ currency })}`)}
              >
                Download its lines as CSV
              </a>
              <a
                class="button"
                download={`statement-${period}-${currency}.json`}
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
            {found.days && <Days days={found.days} currency={currency} />}
          </>
        )}
      </Show>
    </section>
  );
}

function Days({ days, currency }: { days: StatementDay[]; currency: string }) {
  return (
    <Table
      caption="The balance at the end of each day"
      rows={days}
      keyOf={({ date }) => date}
      empty=""
      columns={[
        {
          name: 'Day',
          to: ({ date }) => `${to('statements')}${query({ date, currency })}`,
          cell: ({ date }) => longDay(date),
        },
        {
          name: 'Balance',
          number: true,
          cell: ({ closingBalance, exact }) =>
            money({ amount: closingBalance, exact: exact?.closingBalance }, currency),
        },
        { name: 'State', cell: ({ final }) => <FinalBadge final={final} /> },
      ]}
    />
  );
}

const FinalBadge = ({ final }: { final: boolean }) => (
  <span class={`badge ${final ? 'good' : 'wait'}`}>{final ? 'Final' : 'Not final yet'}</span>
);

function WhoOwesWhom({ date }: { date: string }) {
  const positions = useLoaded<'listPositions'>(`/v1/positions${query({ date })}`);
  return (
    <section class="card stack">
      <h2>Who owes whom</h2>
      <Show loaded={positions} what="The positions">
        {(found) => <Positions positions={found.positions} />}
      </Show>
    </section>
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

function Shown({ of: { exact, currency, date, month, ...found } }: { of: Statement }) {
  const sum = (amount: number, name: keyof NonNullable<Statement['exact']>) =>
    money({ amount, exact: exact?.[name] }, currency);
  const { role } = useSession();
  const at = useCounted(currency);
  const first = month === undefined ? date : firstOfMonth(date);
  return (
    <>
      <p>
        <FinalBadge final={found.final} />{' '}
        {!found.final && (
          <span class="quiet small">
            More may still settle {month === undefined ? 'on this day' : 'in this month'}.
          </span>
        )}
      </p>
      <dl class="figures">
        <Figure name="Opening balance">{sum(found.openingBalance, 'openingBalance')}</Figure>
        {MOVED.map(([name, field, what]) => {
          const moved = found[field];
          if (moved === undefined || (field === 'credits' && role !== 'bank')) return null;
          const amount = sum(moved.amount, field);
          return (
            <Figure key={field} name={name} small={counted(moved.count, 'line')}>
              {what === undefined ? amount : <a href={at(what, first, date)}>{amount}</a>}
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
