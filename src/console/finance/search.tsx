import type { Transaction, TransactionWithEvents } from '../../../packages/client/src/api.generated';
import { money } from '../parts/money';
import { go, to, type Address } from './address';
import { useMoment, useSession } from './context';
import { Facts, Id } from './facts';
import { search, type Found } from './look-up';
import { Show, useAnswered } from './loaded';
import { BankStatementFound, DeliveryFound, IntentFound } from './record-found';
import { ScheduleFound } from './schedule-found';
import { SearchLink } from './search-link';
import { Table } from './table';
import { Timeline } from './timeline';
import { reasonInWords, toneOf } from './words';

export function Search({ address: { id } }: { address: Address }) {
  return (
    <>
      <form
        class="card stack"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget).get('what');
          if (typeof given === 'string' && given.trim() !== '') go(to('search', given.trim()));
        }}
      >
        <div class="row fields">
          <label>
            Reference or id
            <input
              name="what"
              type="search"
              required
              size={34}
              key={id ?? ''}
              defaultValue={id ?? ''}
              spellcheck={false}
              autocapitalize="none"
            />
          </label>
          <button class="first" type="submit">
            Search
          </button>
        </div>
        <p class="quiet small">
          The reference of a charge, refund or reversal, or the id of a charge (brq_…), refund (rfd_…),
          transaction (txn_…), exception (exc_…), schedule (sch_…), intent (int_…), webhook (dlv_…), customer
          (cus_…) or merchant (mch_…)
          <OfBanks />.
        </p>
      </form>
      {id !== undefined && <SearchResult what={id} key={id} />}
    </>
  );
}

const OfBanks = () =>
  useSession().role === 'bank' ? <>, of a statement (stm_…); or your own id of a transaction</> : null;

function SearchResult({ what }: { what: string }) {
  const { role } = useSession();
  const loaded = useAnswered(what, (one) => search(one, role));
  return (
    <Show loaded={loaded} what="What was found">
      {(found) => <Result found={found} what={what} />}
    </Show>
  );
}

function Result({ found, what }: { found: Found; what: string }) {
  if (found.is === 'transaction') return <TransactionDetails of={found.transaction} />;
  if (found.is === 'transactions') return <Several found={found.transactions} total={found.total} />;
  if (found.is === 'schedule') return <ScheduleFound schedule={found.schedule} />;
  if (found.is === 'intent') return <IntentFound intent={found.intent} />;
  if (found.is === 'delivery') return <DeliveryFound delivery={found.delivery} />;
  if (found.is === 'statement') return <BankStatementFound statement={found.statement} />;
  return (
    <p class="card" role="status">
      Nothing of yours goes by “{what}”. Look whether it is whole: references have 24 letters and digits.
    </p>
  );
}

function TransactionDetails({ of: one }: { of: TransactionWithEvents }) {
  const moment = useMoment();
  return (
    <>
      <section class="card stack">
        <h2>
          {one.type === 'charge' ? 'Charge' : one.type === 'refund' ? 'Refund' : 'Reversal'} of{' '}
          {money(one, one.currency)} <span class={`badge ${toneOf(one.status)}`}>{one.status}</span>
        </h2>
        <Facts
          of={[
            ['Reference', <Id of={one.reference} />],
            ['For', one.description],
            one.declineReason !== null && ['Declined', reasonInWords(one.declineReason)],
            one.refundedAmount > 0 && ['Refunded of it', money({ amount: one.refundedAmount }, one.currency)],
            one.reversedAmount > 0 && ['Reversed of it', money({ amount: one.reversedAmount }, one.currency)],
            ['Made', moment(one.createdAt)],
            ['Settled', one.settledAt === null ? 'Not settled' : moment(one.settledAt)],
            ['Customer', <SearchLink of={one.customerId} />],
          ]}
        />
      </section>
      <section class="card stack">
        <h2>What has happened</h2>
        {one.timeline.length === 0 ? (
          <p class="quiet">There is no record of it.</p>
        ) : (
          <Timeline of={one.timeline} />
        )}
      </section>
    </>
  );
}

function Several({ found, total }: { found: Transaction[]; total: number }) {
  const moment = useMoment();
  return (
    <section class="card stack">
      <h2>The latest transactions</h2>
      <Table
        caption="The latest transactions"
        rows={found}
        keyOf={({ transactionId }) => transactionId}
        empty="There is none."
        columns={[
          {
            name: 'Reference',
            cell: ({ reference }) => <SearchLink of={reference} />,
          },
          { name: 'Type', cell: ({ type }) => type },
          { name: 'Amount', number: true, cell: (one) => money(one, one.currency) },
          { name: 'State', cell: ({ status }) => <span class={`badge ${toneOf(status)}`}>{status}</span> },
          { name: 'Made', cell: ({ createdAt }) => moment(createdAt) },
        ]}
      />
      {total > found.length && (
        <p class="quiet small">
          There are more: the whole history is at GET /v1/transaction-history, also as CSV.
        </p>
      )}
    </section>
  );
}
