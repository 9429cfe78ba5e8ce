import { useState } from 'preact/hooks';
import type { Position, Statement } from '../../../packages/client/src/api.generated';
import { money } from '../parts/money';
import { fileAt, query } from './api';
import { Choice } from './choice';
import { useSession } from './context';
import { addDays, longDay } from './days';
import { wholeNumber } from './figures';
import { Show, useLoaded } from './loaded';
import { Table } from './table';

export function Statements() {
  const { currencies, today } = useSession();
  const [date, setDate] = useState(addDays(today, -1));
  const [currency, setCurrency] = useState(currencies[0] ?? '');
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
            onChange={(event) => event.currentTarget.value && setDate(event.currentTarget.value)}
          />
        </label>
        {currencies.length > 1 && (
          <Choice
            name="Currency"
            value={currency}
            names={Object.fromEntries(currencies.map((one) => [one, one]))}
            choose={setCurrency}
          />
        )}
        <button type="button" onClick={() => setDate(addDays(date, -1))}>
          Day before
        </button>
        <button type="button" onClick={() => setDate(addDays(date, 1))}>
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
  ['Charges', 'charges'],
  ['Refunds', 'refunds'],
  ['Refunds that came back', 'refundReturns'],
  ['Reversed', 'reversals'],
  ['Payments to customers', 'credits'],
] as const;

function Shown({ of: { exact, currency, ...found } }: { of: Statement }) {
  const sum = (amount: number, name: keyof NonNullable<Statement['exact']>) =>
    money({ amount, exact: exact?.[name] }, currency);
  const { role } = useSession();
  return (
    <>
      <p>
        <span class={`badge ${found.final ? 'good' : 'wait'}`}>
          {found.final ? 'Final' : 'Not final yet'}
        </span>{' '}
        {!found.final && <span class="quiet small">More may still settle on this day.</span>}
      </p>
      <dl class="figures">
        <div>
          <dt>Opening balance</dt>
          <dd>{sum(found.openingBalance, 'openingBalance')}</dd>
        </div>
        {MOVED.filter(([, field]) => field !== 'credits' || role === 'bank').map(([name, field]) => (
          <div key={field}>
            <dt>{name}</dt>
            <dd>
              {sum(found[field].amount, field)}
              <small>
                {wholeNumber(found[field].count)} {found[field].count === 1 ? 'line' : 'lines'}
              </small>
            </dd>
          </div>
        ))}
        <div>
          <dt>Closing balance</dt>
          <dd>
            {sum(found.closingBalance, 'closingBalance')}
            <small>
              {found.closingBalance < 0
                ? 'you owe the network'
                : found.closingBalance > 0
                  ? 'the network owes you'
                  : 'nothing is owed'}
            </small>
          </dd>
        </div>
        <div>
          <dt>Open exceptions</dt>
          <dd>{wholeNumber(found.exceptionsOpen)}</dd>
        </div>
      </dl>
    </>
  );
}

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
        {
          name: 'It owes you',
          number: true,
          cell: ({ owedToYou, exact, currency }) =>
            money({ amount: owedToYou, exact: exact?.owedToYou }, currency),
        },
        {
          name: 'You owe it',
          number: true,
          cell: ({ owedByYou, exact, currency }) =>
            money({ amount: owedByYou, exact: exact?.owedByYou }, currency),
        },
        {
          name: 'Net',
          number: true,
          cell: ({ net, exact, currency }) => money({ amount: net, exact: exact?.net }, currency),
        },
      ]}
    />
  );
}
