import { useState } from 'preact/hooks';
import type { Customer, Decision } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { Act } from './act';
import { to, type Address } from './address';
import { change, query } from './api';
import { Choice, useDraft, usePaged } from './choice';
import { Consent } from './consent';
import { useMoment, useSession } from './context';
import { Show, useLoaded, useNotice, type Done } from './loaded';
import { AllOf, Badge, Facts, Ids } from './parts';
import { paymentsAt } from './payment-filter';
import { FoundPayments } from './payments';
import { AgreementFound } from './record-found';
import { FoundSchedules } from './schedules';
import { SearchForm } from './search-form';
import { Pages, Table } from './table';
import { customerOf, stateInWords } from './words';

export function Customers({ address: { id } }: { address: Address }) {
  const { role } = useSession();
  if (id !== undefined && role !== 'bank') return <CustomerOfMerchant id={id} key={id} />;
  return id === undefined ? <CustomerList /> : <CustomerShown id={id} key={id} />;
}

const nameOf = ({ firstname, middlename, lastname }: Customer) =>
  [firstname, middlename, lastname].filter((one) => one !== null).join(' ');

const SEARCH = '/v1/bank/customers/search';

function CustomerList() {
  const { chosen: text, asked, sorting, choose, go } = usePaged('');
  const loaded = useLoaded<'searchCustomers'>(SEARCH + query(asked), text === '' ? {} : { search: text });
  const moment = useMoment();
  return (
    <section class="card stack">
      <SearchForm name="Name, e-mail address, lookupID or your own reference" text={text} look={choose} />
      <Show loaded={loaded} what="The customers">
        {(listed) => (
          <>
            <Table
              caption="Your customers"
              rows={listed.customers}
              keyOf={({ customerId }) => customerId}
              empty="No customer of yours goes by that."
              sorting={sorting}
              columns={[
                {
                  name: 'Customer',
                  sortBy: 'lastname',
                  to: ({ customerId }) => to('customers', customerId),
                  cell: (one) => <strong>{nameOf(one)}</strong>,
                },
                { name: 'Account', cell: ({ accountName }) => accountName },
                {
                  name: 'Your reference',
                  sortBy: 'clientRef',
                  cell: ({ clientRef }) => <span class="quiet">{clientRef}</span>,
                },
                {
                  name: 'Since',
                  sortBy: 'createdAt',
                  cell: ({ createdAt }) => <span class="quiet">{moment(createdAt)}</span>,
                },
              ]}
            />
            <Pages listed={listed} go={go} />
          </>
        )}
      </Show>
    </section>
  );
}

function CustomerShown({ id }: { id: string }) {
  const loaded = useLoaded<'searchCustomers'>(SEARCH, { customerId: id });
  const [decisions, setDecisions] = useState(0);
  const moment = useMoment();
  return (
    <>
      <AllOf page="customers" />
      <Show loaded={loaded} what="The customer">
        {({ customers: [one] }) =>
          one === undefined ? (
            <p class="card">You have no such customer.</p>
          ) : (
            <>
              <section class="card stack">
                <div class="head">
                  <h2 class="sum">{nameOf(one)}</h2>
                  <a class="button" href={paymentsAt({ customerId: id })}>
                    Payments
                  </a>
                </div>
                <Facts
                  of={[
                    ['Account', one.accountName],
                    ['E-mail address', one.email],
                    one.phone !== null && ['Telephone', one.phone],
                    one.address !== null && ['Address', one.address],
                    ['Your reference', one.clientRef],
                    ['Since', moment(one.createdAt)],
                  ]}
                />
                <Ids of={{ Customer: id, lookupID: one.lookupID }} />
              </section>
              <Allowed id={id} decided={() => setDecisions(decisions + 1)} />
              <section class="card stack" aria-labelledby="subscribed">
                <h2 id="subscribed">Schedules</h2>
                <FoundSchedules body={{ customerId: id }} key={decisions} />
              </section>
            </>
          )
        }
      </Show>
    </>
  );
}

const DECISIONS = '/v1/bank/customer-decisions';

/**
 * Agreements of the customer with merchants.
 *
 * @param decided told of a decision, which may suspend or end schedules
 */
function Allowed({ id, decided }: { id: string; decided: () => void }) {
  const { asked, go } = usePaged(id);
  const loaded = useLoaded<'listDecisions'>(`${DECISIONS}${query({ customerId: id, ...asked })}`);
  const { notice, done } = useNotice(loaded);
  const changed: Done = (said) => {
    done(said);
    decided();
  };
  return (
    <section class="card stack" aria-labelledby="allowed">
      <h2 id="allowed">Whom the customer lets charge</h2>
      {notice}
      <Show loaded={loaded} what="The decisions">
        {(listed) => (
          <>
            <Table
              caption="Decisions of the customer"
              rows={listed.decisions}
              keyOf={(one) => one.id}
              empty="No merchant has asked yet."
              columns={[
                { name: 'Merchant', cell: ({ merchant }) => merchant.name },
                {
                  name: 'Decision',
                  cell: (one) =>
                    `${stateInWords(one.customerDecision)}${one.blockMerchant ? ', and blocked' : ''}`,
                },
                { name: 'State', cell: ({ state }) => <Badge of={state} /> },
                {
                  name: 'This month',
                  number: true,
                  cell: ({ spent, currency }) => money(spent.monthly, currency),
                },
                {
                  name: 'Limit of a month',
                  number: true,
                  cell: ({ spendingLimits, currency }) =>
                    spendingLimits.monthly == null ? 'None' : money(spendingLimits.monthly, currency),
                },
                {
                  name: 'Act',
                  cell: (one) => one.customerDecision !== 'pending' && <Decide of={one} done={changed} />,
                },
              ]}
            />
            <Pages listed={listed} go={go} />
            {listed.decisions.map((one) => (
              <details key={one.id}>
                <summary>What {one.merchant.name} may charge</summary>
                <Consent of={one} about={`of ${one.merchant.name}`} />
              </details>
            ))}
          </>
        )}
      </Show>
    </section>
  );
}

const CHOICES: Record<string, string> = {
  approve_recurring: 'Approve recurring: charges need no further approval',
  approve_once: 'Approve once: the customer approves each charge',
  suspended: 'Suspended: no charges for now, schedules wait',
  deny: 'Deny: no charges any more, schedules are cancelled',
};

/** The terms stay: the call has no limits. */
function Decide({ of: one, done }: { of: Decision; done: Done }) {
  const [said, say] = useDraft<string>(one.customerDecision);
  const { name } = one.merchant;
  return (
    <Act
      name="Change …"
      label={`Change what ${name} may charge`}
      lowest="admin"
      title={`What may ${name} charge from now on?`}
      yes="Yes, the customer says so"
      send={async () => {
        const path = `${DECISIONS}/${one.id}`;
        const { message, data } = await change<'changeDecision'>('PUT', path, { customerDecision: said });
        const open = (data.pending ?? []).map(
          ({ amount, reference }) => `${money(amount, one.currency)} (${reference})`,
        );
        const rest = open.length === 0 ? '' : ` Deny what you have not booked yet: ${open.join(', ')}.`;
        return `${name}: ${message}.${rest}`;
      }}
      done={done}
    >
      <Choice name="The customer’s decision" value={said} names={CHOICES} choose={say} />
      {one.blockMerchant && <p>The customer has blocked {name}: any choice but Deny lifts the block.</p>}
      <p>The limits stay as they are, and the merchant is told.</p>
    </Act>
  );
}

/** A customer as merchants know them: by the id alone. */
function CustomerOfMerchant({ id }: { id: string }) {
  const { asked, go } = usePaged(id);
  const agreed = useLoaded<'listAgreements'>(`/v1/agreements${query({ customerId: id, ...asked })}`);
  return (
    <>
      <section class="card stack">
        <h2 class="sum">{customerOf({ customerId: id })}</h2>
        <Ids of={{ Customer: id }} />
      </section>
      <Show loaded={agreed} what="The agreements">
        {(listed) => (
          <>
            {listed.agreements.length === 0 && (
              <p class="card quiet">You have no agreement with this customer.</p>
            )}
            {listed.agreements.map((one) => (
              <AgreementFound agreement={one} key={one.agreementId} />
            ))}
            <Pages listed={listed} go={go} />
          </>
        )}
      </Show>
      <section class="card stack" aria-labelledby="schedules">
        <h2 id="schedules">Schedules</h2>
        <FoundSchedules body={{ customerId: id }} />
      </section>
      <section class="card stack" aria-labelledby="payments">
        <div class="head">
          <h2 id="payments">Payments</h2>
          <a href={paymentsAt({ customerId: id })}>Filter and download them</a>
        </div>
        <FoundPayments body={{ customerId: id }} />
      </section>
    </>
  );
}
