import { useMemo, useState } from 'preact/hooks';
import type { ForecastDay, SummaryDay, SummaryTotal } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { reasonInWords } from '../parts/payment-words';
import { ask, query, type DataOf } from './api';
import { go } from './address';
import { Chart, type Bars } from './chart';
import { Choice } from './choice';
import { useCounted, type Counted } from './counted';
import {
  addDays,
  daysFrom,
  firstOfMonth,
  lastOfMonth,
  longDay,
  monthOf,
  shortDay,
  spanInWords,
} from './days';
import { counted, percent, wholeNumber } from './figures';
import { useSession } from './context';
import { Show, useAnswered, useLoaded } from './loaded';
import { Figure } from './parts';
import { schedulesFor } from './payment-acts';
import { Search } from './payments';
import { schedulesAt } from './schedules';
import { Table, type Column } from './table';
import { countActs } from './waiting';

/** Days of a forecast. */
const DAYS = { 7: '7 days', 30: '30 days', 60: '60 days', 90: '90 days' } as const;

export function Overview() {
  // `undefined` is the current month, which the service knows: a test clock may be years ahead.
  const [month, setMonth] = useState<string>();
  const span = month === undefined ? {} : { from: month, to: lastOfMonth(month) };
  const summary = useLoaded<'getSummary'>(`/v1/summary${query(span)}`);
  const [ahead, setAhead] = useState<`${keyof typeof DAYS}`>('30');
  const forecast = useLoaded<'getForecast'>(`/v1/forecast?days=${ahead}`);
  return (
    <>
      <section class="card">
        <Search />
      </section>
      <Attention />
      <Show loaded={summary} what="The month">
        {(found) => (
          <>
            <MonthPicker found={found} choose={setMonth} />
            <Month found={found} />
          </>
        )}
      </Show>
      <section class="card stack" aria-labelledby="due">
        <div class="head">
          <h2 id="due">Due in the next {DAYS[ahead]}</h2>
          <Choice name="Look ahead" value={ahead} names={DAYS} choose={setAhead} />
        </div>
        <Show loaded={forecast} what="The forecast">
          {({ days }) => <Due days={days} ahead={ahead} />}
        </Show>
      </section>
    </>
  );
}

type Summary = DataOf<'getSummary'>;

function MonthPicker({ found, choose }: { found: Summary; choose: (month: string | undefined) => void }) {
  const { from, today } = found;
  const isThis = from === firstOfMonth(today);
  const next = firstOfMonth(addDays(lastOfMonth(from), 1));
  return (
    <div class="row">
      <button type="button" onClick={() => choose(firstOfMonth(addDays(from, -1)))}>
        Month before
      </button>
      <h2>{monthOf(from)}</h2>
      {!isThis && (
        <>
          <button type="button" onClick={() => choose(next === firstOfMonth(today) ? undefined : next)}>
            Month after
          </button>
          <button type="button" class="plain" onClick={() => choose(undefined)}>
            This month
          </button>
        </>
      )}
    </div>
  );
}

function Month({ found }: { found: Summary }) {
  const { totals, today, from } = found;
  if (totals.length === 0) {
    return (
      <p class="card empty quiet">
        Nothing was charged, declined or refunded in {monthOf(from)}
        {from === firstOfMonth(today) && ' yet'}.
      </p>
    );
  }
  return (
    <>
      {totals.map((total) => (
        <InCurrency key={total.currency} total={total} of={found} />
      ))}
    </>
  );
}

function InCurrency({ total, of: { from, to, today, days: all } }: { total: SummaryTotal; of: Summary }) {
  const { currency } = total;
  const days = all.filter((day) => day.currency === currency);
  const ofToday = days.find(({ date }) => date === today);
  return (
    <>
      <div class="halves">
        {from === firstOfMonth(today) && (
          <section class="card stack">
            <h3>Today, {longDay(today)}</h3>
            {ofToday ? (
              <Figures of={ofToday} from={today} to={today} />
            ) : (
              <p class="quiet">Nothing has moved today yet.</p>
            )}
          </section>
        )}
        <section class="card stack">
          <h3>
            {monthOf(from)} in {currency}
          </h3>
          <Figures of={total} from={from} to={to} />
        </section>
      </div>
      <section class="card stack">
        <h3>Day by day</h3>
        <Days days={days} currency={currency} from={from} to={to} />
      </section>
      {total.declined.count > 0 && <Declined of={total} from={from} to={to} />}
    </>
  );
}

interface Span {
  from: string;
  to: string;
}

function Figures({ of, from, to }: Span & { of: SummaryTotal }) {
  const at = useCounted(of.currency);
  const { currency, charged, declined, successRate } = of;
  const shown = (name: string, what: Counted & keyof SummaryTotal, one: string) => (
    <Figure name={name} small={counted(of[what].count, one)}>
      <a href={at(what, from, to)}>{money(of[what], currency)}</a>
    </Figure>
  );
  return (
    <dl class="figures">
      {shown('Charged', 'charged', 'charge')}
      {shown('Declined', 'declined', 'charge')}
      {shown('Refunded', 'refunded', 'refund')}
      {of.returned.count > 0 && shown('Refunds that came back', 'returned', 'refund')}
      {of.reversed.count > 0 && shown('Reversed', 'reversed', 'charge')}
      <Figure
        name="Success rate"
        small={
          <>
            of <a href={at('decided', from, to)}>{wholeNumber(charged.count + declined.count)} decided</a>
          </>
        }
      >
        {successRate === null ? '–' : percent(successRate)}
      </Figure>
    </dl>
  );
}

function Days({ days, currency, from, to }: Span & { days: SummaryDay[]; currency: string }) {
  const at = useCounted(currency);
  const bars = useMemo((): Bars => {
    const all = daysFrom(from, to);
    const of = new Map(days.map((day) => [day.date, day]));
    return {
      labels: all.map(shortDay),
      series: [
        { name: 'Charged', colour: 'accent', values: all.map((day) => of.get(day)?.charged.amount ?? 0) },
        { name: 'Declined', colour: 'bad', values: all.map((day) => of.get(day)?.declined.amount ?? 0) },
      ],
      pick: (n, one) => {
        const day = all[n];
        if (day !== undefined) go(at(one === 0 ? 'charged' : 'declined', day, day));
      },
    };
  }, [days, from, to]);
  const linked = (name: string, what: 'charged' | 'declined' | 'refunded'): Column<SummaryDay> => ({
    name,
    number: true,
    cell: ({ [what]: sum, date }) => <a href={at(what, date, date)}>{money(sum, currency)}</a>,
  });
  return (
    <>
      <ul class="legend row small" aria-hidden="true">
        <li>Charged</li>
        <li class="bad">Declined</li>
      </ul>
      <Chart
        bars={bars}
        describe={`What was charged and declined each day, in ${currency}; the table below has the numbers`}
      />
      <details>
        <summary>The days as a table</summary>
        <Table
          caption={`What was charged, declined and refunded each day, in ${currency}`}
          rows={days.toReversed()}
          keyOf={({ date }) => date}
          empty="Nothing has moved."
          columns={[
            { name: 'Day', cell: ({ date }) => longDay(date) },
            { name: 'Charges', number: true, cell: ({ charged }) => wholeNumber(charged.count) },
            linked('Charged', 'charged'),
            { name: 'Declines', number: true, cell: ({ declined }) => wholeNumber(declined.count) },
            linked('Declined', 'declined'),
            linked('Refunded', 'refunded'),
            {
              name: 'Success rate',
              number: true,
              cell: ({ successRate }) => (successRate === null ? '–' : percent(successRate)),
            },
          ]}
        />
      </details>
    </>
  );
}

function Declined({ of: { currency, declined }, from, to }: Span & { of: SummaryTotal }) {
  const at = useCounted(currency);
  return (
    <section class="card stack">
      <h3>Why charges were declined</h3>
      <Table
        caption="Declined charges of the month, by reason"
        rows={declined.reasons.toSorted((a, b) => b.count - a.count)}
        keyOf={({ reason }) => reason}
        empty="No charge was declined."
        columns={[
          {
            name: 'Reason',
            cell: ({ reason }) => <a href={at('declined', from, to, reason)}>{reasonInWords(reason)}</a>,
          },
          { name: 'Charges', number: true, cell: ({ count }) => wholeNumber(count) },
          { name: 'Share', number: true, cell: ({ count }) => percent(count / declined.count) },
          { name: 'Amount', number: true, cell: (sum) => money(sum, currency) },
        ]}
      />
    </section>
  );
}

/** @param ahead days of the forecast, which the schedules of a day are found by */
function Due({ days, ahead }: { days: ForecastDay[]; ahead: string }) {
  const currencies = [...new Set(days.map(({ currency }) => currency))];
  if (currencies.length === 0) return <p class="empty quiet">No schedule will charge in this time.</p>;
  return (
    <>
      {currencies.map((currency) => (
        <DueIn
          key={currency}
          currency={currency}
          ahead={ahead}
          days={days.filter((day) => day.currency === currency)}
        />
      ))}
    </>
  );
}

function DueIn({ days, currency, ahead }: { days: ForecastDay[]; currency: string; ahead: string }) {
  const on = (dueOn: string) => schedulesAt({ dueOn, dueInDays: ahead });
  const bars = useMemo((): Bars => {
    const first = days[0]?.date ?? '';
    const last = days.at(-1)?.date ?? first;
    const all = daysFrom(first, last);
    const of = new Map(days.map(({ date, amount }) => [date, amount]));
    return {
      labels: all.map(shortDay),
      series: [{ name: 'Due', colour: 'accent', values: all.map((day) => of.get(day) ?? 0) }],
      pick: (n) => go(on(all[n] ?? first)),
    };
  }, [days, ahead]);
  const sum = (what: 'count' | 'amount') => days.reduce((total, day) => total + day[what], 0);
  return (
    <>
      <p>
        <strong>{money(sum('amount'), currency)}</strong> by {counted(sum('count'), 'charge')},{' '}
        {spanInWords(days[0]?.date ?? '', days.at(-1)?.date ?? '')}.
      </p>
      <Chart
        bars={bars}
        describe={`What falls due each day, in ${currency}; the table below has the numbers`}
      />
      <details>
        <summary>Due charges as a table</summary>
        <Table
          caption={`Charges that fall due each day, in ${currency}`}
          rows={days}
          keyOf={({ date }) => date}
          empty="Nothing falls due."
          columns={[
            { name: 'Day', cell: ({ date }) => <a href={on(date)}>{longDay(date)}</a> },
            { name: 'Charges', number: true, cell: (day) => wholeNumber(day.count) },
            { name: 'Amount', number: true, cell: (day) => money(day, currency) },
          ]}
        />
      </details>
    </>
  );
}

type Total = Pick<DataOf<'listExceptions'>, 'total' | 'totalIsMinimum'>;

/** Counts of what waits for a person, each with the way to its list; none where nothing waits. */
function Attention() {
  const { role, person } = useSession();
  const schedules = schedulesFor(role);
  /** The filter is that of the page, and of the API. */
  const lists = [
    ['open exception', 'exceptions', 'state=open', '/v1/reconciliation/exceptions'],
    ['failed webhook', 'webhooks', 'status=failed', '/v1/webhooks/deliveries'],
    ['past-due schedule', 'schedules', 'status=past_due', schedules],
    ['suspended schedule', 'schedules', 'status=suspended', schedules],
  ] as const;
  const count = async ([one, page, filter, path]: (typeof lists)[number]) => {
    const found: Total = await ask<'listExceptions'>(`${path}?${filter}&limit=1`);
    return { ...found, one, at: `#/${page}?${filter}` };
  };
  const acts = async (): Promise<(Total & { one: string; at: string })[]> => {
    const { toDecide, lapsed } = person ? await countActs(person.personId) : { toDecide: 0, lapsed: 0 };
    return [
      { total: toDecide, one: 'waiting act', at: '#/waiting' },
      { total: lapsed, one: 'lapsed act', at: '#/waiting' },
    ];
  };
  const loaded = useAnswered('lists', async () => (await Promise.all([acts(), ...lists.map(count)])).flat());
  return (
    <Show loaded={loaded} what="What needs attention">
      {(all) => {
        const waiting = all.filter(({ total }) => total > 0);
        if (waiting.length === 0) return null;
        return (
          <section class="card stack" aria-labelledby="attention">
            <h2 id="attention">Needs attention</h2>
            <div class="row">
              {waiting.map(({ one, at, total, totalIsMinimum }) => (
                <a key={one} class="button" href={at}>
                  {totalIsMinimum && 'At least '}
                  {counted(total, one)}
                </a>
              ))}
            </div>
          </section>
        );
      }}
    </Show>
  );
}
