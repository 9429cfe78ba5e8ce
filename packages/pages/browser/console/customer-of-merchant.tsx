import { query } from './api';
import { Show, useLoaded } from './loaded';
import { Ids } from './parts';
import { paymentsAt } from './payment-filter';
import { FoundPayments } from './payments';
import { AgreementFound } from './record-found';
import { FoundSchedules } from './schedules';
import { customerOf } from './words';

/** A customer as merchants know them: by the id alone. */
export function CustomerOfMerchant({ id }: { id: string }) {
  const agreed = useLoaded<'listAgreements'>(`/v1/agreements${query({ customerId: id, limit: 100 })}`);
  return (
    <>
      <section class="card stack">
        <h2 class="sum">{customerOf({ customerId: id })}</h2>
        <Ids of={{ Customer: id }} />
      </section>
      <Show loaded={agreed} what="The agreements">
        {({ agreements: all }) =>
          all.length === 0 ? (
            <p class="card quiet">You have no agreement with this customer.</p>
          ) : (
            all.map((one) => <AgreementFound agreement={one} key={one.agreementId} />)
          )
        }
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
