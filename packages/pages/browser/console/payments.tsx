import { useEffect, useState } from 'preact/hooks';
import type { FoundTransaction } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { reasonInWords } from '../parts/payment-words';
import { go, to, type Address } from './address';
import { ask, type DataOf } from './api';
import { useMoment, useSession } from './context';
import { wholeNumber } from './figures';
import { Show, useAnswered, useAttempt, useLoaded } from './loaded';
import { Alert, Badge, Figure } from './parts';
import { bodyOf, fileNameOf, filterOf, paymentsAt, type PaymentFilter } from './payment-filter';
import { PaymentFilters } from './payment-filters';
import { RecordFound } from './record';
import { Save } from './save';
import { SearchForm } from './search-form';
import { Pages, Table, type Column } from './table';
import { customerOf, partsBack, TYPES } from './words';

const SEARCH = '/v1/transaction-history/search';
const PER_PAGE = 25;
/** The service looks through a part of a long history at a time. */
const LOOKS_MAX = 50;

export function Payments({ address: { id, parameters } }: { address: Address }) {
  return id === undefined ? (
    <PaymentList filter={filterOf(parameters)} />
  ) : (
    <RecordFound what={id} key={id} />
  );
}

/** Whole references, and ids of records. */
const NAMES_ONE = /^(?:[a-z]{3}_\w+|[0-9A-HJKMNP-TV-Z]{24})$/i;

/**
 * Kept here, and in no address: it may be a name. The reader who comes back finds it again, at the
 * same filter alone: a figure's link promises all that the figure counts.
 */
let last = { sessionId: '', at: '', text: '' };

/** Opens the record that a text names, or the only payment that it finds. */
export function Search({
  filter = {},
  text = '',
  listed = () => go(paymentsAt({})),
}: {
  filter?: PaymentFilter;
  /** Searched for now. */
  text?: string;
  /** Told of a text that finds more. */
  listed?: (text: string) => void;
}) {
  const { role, sessionId } = useSession();
  const { attempt, error } = useAttempt();
  function look(next: string): void {
    if (NAMES_ONE.test(next)) return go(to('payments', next));
    const looked = next === '' ? Promise.resolve(undefined) : onlyOne(bodyOf(filter, next));
    attempt(looked, (only) => {
      last = { sessionId, at: paymentsAt(filter), text: next };
      if (only === undefined) listed(next);
      else go(to('payments', only));
    });
  }
  return (
    <>
      <SearchForm
        name={`Search by reference, description, amount${SEARCHED[role]}, or any id`}
        text={text}
        look={look}
      />
      {error !== undefined && <Alert>{error}</Alert>}
    </>
  );
}

/** A second payment is looked for in the latest hundred thousand. */
const ONLY_LOOKS_MAX = 5;

/** The reference of a charge that is found alone, or with its refunds and reversals. */
async function onlyOne(body: object): Promise<string | undefined> {
  const found: FoundTransaction[] = [];
  let cursor = {};
  for (let looks = 0; looks < ONLY_LOOKS_MAX; looks++) {
    const { transactions, next } = await ask<'searchTransactions'>(SEARCH, { ...body, ...cursor });
    found.push(...transactions);
    if (new Set(found.map((one) => one.billingRequestId)).size > 1) return undefined;
    if (next === null) return (found.find(({ type }) => type === 'charge') ?? found[0])?.reference;
    cursor = { cursor: next };
  }
  return undefined;
}

function PaymentList({ filter }: { filter: PaymentFilter }) {
  const { sessionId, name, today } = useSession();
  const at = paymentsAt(filter);
  const [text, setText] = useState(last.sessionId === sessionId && last.at === at ? last.text : '');
  useEffect(() => {
    if (text !== '') last = { sessionId, at, text };
  }, [at, text]);
  const body = bodyOf(filter, text);
  const totals = useLoaded<'totalTransactions'>('/v1/transaction-history/totals', body);
  return (
    <section class="card stack">
      <Search filter={filter} text={text} listed={setText} />
      <PaymentFilters filter={filter} choose={(next) => go(paymentsAt(next))} />
      <div class="head">
        <Show loaded={totals} what="The totals">
          {(found) => <Sums of={found} />}
        </Show>
        <Save path={SEARCH} body={body} name={`${name} ${fileNameOf(filter, today)}`}>
          Download as CSV
        </Save>
      </div>
      <FoundPayments body={body} totalled={totals.data} key={JSON.stringify(body)} />
    </section>
  );
}

/** Fields of a search that depend on the role, in the words of its label. */
const SEARCHED = {
  bank: ', customer, merchant',
  provider: ', merchant, order number',
  merchant: ', order number',
} as const;

type Totalled = DataOf<'totalTransactions'>;

function Sums({ of: { count, countIsMinimum, moved, totals } }: { of: Totalled }) {
  return (
    <dl class="figures totals" aria-label="Totals of these payments">
      <Figure name={countIsMinimum ? 'Only a part: narrow the filter for all' : 'Payments'}>
        {countIsMinimum ? `${wholeNumber(count)}+` : wholeNumber(count)}
      </Figure>
      {moved.map((sum) => (
        <Figure key={sum.currency} name="Moved your balance by">
          {money(sum, sum.currency)}
        </Figure>
      ))}
      {totals.map((one) => (
        <Figure
          key={`${one.currency} ${one.type} ${one.status}`}
          name={`${TYPES[one.type]}s ${one.status}`}
          small={wholeNumber(one.count)}
        >
          {money(one, one.currency)}
        </Figure>
      ))}
    </dl>
  );
}

type Answer = DataOf<'searchTransactions'>;

async function pageOf(what: string): Promise<Answer> {
  let body = JSON.parse(what) as object;
  for (let looks = 1; ; looks++) {
    const found = await ask<'searchTransactions'>(SEARCH, body);
    if (found.transactions.length > 0 || found.next === null || looks === LOOKS_MAX) return found;
    body = { ...body, cursor: found.next };
  }
}

/** Pages before this one are known by where each began, and by how many payments came before. */
export function FoundPayments({ body, totalled }: { body: object; totalled?: Totalled | undefined }) {
  const [begins, setBegins] = useState<{ cursor: string; before: number }[]>([]);
  const { cursor, before = 0 } = begins.at(-1) ?? {};
  const page = begins.length + 1;
  const loaded = useAnswered(
    JSON.stringify({ ...body, limit: PER_PAGE, ...(cursor !== undefined && { cursor }) }),
    pageOf,
  );
  return (
    <Show loaded={loaded} what="The payments">
      {({ transactions: { length: shown }, transactions, next }) => (
        <>
          <PaymentTable found={transactions} />
          <Pages
            listed={{
              total: next === null ? before + shown : totalled?.count,
              totalIsMinimum: next === null ? undefined : totalled?.countIsMinimum,
              page,
              limit: PER_PAGE,
              before,
              shown,
              isLast: next === null,
            }}
            go={(wanted) =>
              setBegins(
                wanted > page && next !== null
                  ? [...begins, { cursor: next, before: before + shown }]
                  : begins.slice(0, -1),
              )
            }
          />
        </>
      )}
    </Show>
  );
}

function PaymentTable({ found }: { found: FoundTransaction[] }) {
  const { role } = useSession();
  const moment = useMoment();
  const columns: Column<FoundTransaction>[] = [
    {
      name: 'Amount',
      number: true,
      cell: (one) => (
        <a class="whole" href={to('payments', one.reference)}>
          <strong>{money(one, one.currency)}</strong>
        </a>
      ),
    },
    {
      name: 'Status',
      cell: (one) => (
        <>
          <Badge of={one.status} /> {one.type !== 'charge' && <span class="small">{TYPES[one.type]}</span>}
          <Why of={one} />
        </>
      ),
    },
    {
      name: 'Description',
      cell: (one) => (
        <>
          {one.description}
          <div class="mono quiet">{one.reference}</div>
        </>
      ),
    },
    {
      name: 'Customer',
      cell: (one) => (
        <>
          <span class={one.customerName === null ? 'quiet' : ''}>{customerOf(one)}</span>
          {role !== 'merchant' && (
            <div class="small quiet">to {one.payeeName ?? one.merchantName ?? 'another customer'}</div>
          )}
        </>
      ),
    },
    { name: 'Date', cell: ({ createdAt }) => <span class="quiet">{moment(createdAt)}</span> },
  ];
  return (
    <Table
      look="payments"
      caption="Payments"
      rows={found}
      keyOf={({ transactionId }) => transactionId}
      empty="No payment of yours matches all of this."
      columns={columns}
    />
  );
}

function Why({ of: one }: { of: FoundTransaction }) {
  const moment = useMoment();
  const why = [
    one.declineReason !== null && reasonInWords(one.declineReason),
    one.expiresAt !== null && `until ${moment(one.expiresAt)}`,
    ...partsBack(one),
  ].filter((words) => words !== false);
  return why.length === 0 ? null : <div class="small quiet">{why.join('. ')}</div>;
}
