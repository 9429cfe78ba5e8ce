import { useState } from 'preact/hooks';
import type { Customer } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { to, type Address } from './address';
import { ask, query } from './api';
import { Consent } from './consent';
import { useMoment, useSession } from './context';
import { CustomerOfMerchant } from './customer-of-merchant';
import { Show, useAnswered, useLoaded } from './loaded';
import { Badge, Facts, Ids } from './parts';
import { paymentsAt } from './payment-filter';
import { FoundSchedules } from './schedules';
import { SearchForm } from './search-form';
import { Pages, Table } from './table';
import { stateInWords } from './words';

export function Customers({ address: { id } }: { address: Address }) {
  const { role } = useSession();
  if (id !== undefined && role !== 'bank') return <CustomerOfMerchant id={id} key={id} />;
  return id === undefined ? <CustomerList /> : <CustomerShown id={id} key={id} />;
}

const nameOf = ({ firstname, middlename, lastname }: Customer) =>
  [firstname, middlename, lastname].filter((one) => one !== null).join(' ');

/** The text stands in the body alone, for it is a name. */
const found = (what: string) => {
  const { page, ...body } = JSON.parse(what) as { page: number };
  return ask<'searchCustomers'>(`/v1/bank/customers/search?page=${page}`, body);
};

function CustomerList() {
  const [{ text, page }, look] = useState({ text: '', page: 1 });
  const loaded = useAnswered(JSON.stringify({ page, ...(text !== '' && { search: text }) }), found);
  const moment = useMoment();
  return (
    <section class="card stack">
      <SearchForm
        name="Name, e-mail address, lookupID or your own reference"
        text={text}
        look={(next) => look({ text: next, page: 1 })}
      />
      <Show loaded={loaded} what="The customers">
        {(listed) => (
          <>
            <Table
              look="linked"
              caption="Your customers"
              rows={listed.customers}
              keyOf={({ customerId }) => customerId}
              empty="No customer of yours goes by that."
              columns={[
                {
                  name: 'Customer',
                  cell: (one) => (
                    <a class="whole" href={to('customers', one.customerId)}>
                      <strong>{nameOf(one)}</strong>
                    </a>
                  ),
                },
                { name: 'Account', cell: ({ accountName }) => accountName },
                { name: 'Your reference', cell: ({ clientRef }) => <span class="quiet">{clientRef}</span> },
                { name: 'Since', cell: ({ createdAt }) => <span class="quiet">{moment(createdAt)}</span> },
              ]}
            />
            <Pages listed={listed} go={(next) => look({ text, page: next })} />
          </>
        )}
      </Show>
    </section>
  );
}

function CustomerShown({ id }: { id: string }) {
  const loaded = useAnswered(JSON.stringify({ page: 1, customerId: id }), found);
  const moment = useMoment();
  return (
    <>
      <p>
        <a href={to('customers')}>All customers</a>
      </p>
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
              <Allowed id={id} />
              <section class="card stack" aria-labelledby="subscribed">
                <h2 id="subscribed">Schedules</h2>
                <FoundSchedules body={{ customerId: id }} />
              </section>
            </>
          )
        }
      </Show>
    </>
  );
}

/** Agreements of the customer with merchants. */
function Allowed({ id }: { id: string }) {
  const loaded = useLoaded<'listDecisions'>(`/v1/bank/customer-decisions${query({ customerId: id })}`);
  return (
    <section class="card stack" aria-labelledby="allowed">
      <h2 id="allowed">Whom the customer lets charge</h2>
      <Show loaded={loaded} what="The decisions">
        {({ decisions }) => (
          <>
            <Table
              caption="Decisions of the customer"
              rows={decisions}
              keyOf={(one) => one.id}
              empty="No merchant has asked yet."
              columns={[
                { name: 'Merchant', cell: ({ merchant }) => merchant.name },
                { name: 'Decision', cell: ({ customerDecision }) => stateInWords(customerDecision) },
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
              ]}
            />
            {decisions.map((one) => (
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
