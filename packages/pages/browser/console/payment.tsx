import type { TransactionWithEvents } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { reasonInWords } from '../parts/payment-words';
import { PaymentStory } from '../parts/timeline';
import { to } from './address';
import { useMoment, useSession } from './context';
import { ExceptionShown } from './exception';
import type { Done } from './loaded';
import { Badge, CustomerLink, Facts, Id, Ids } from './parts';
import { PaymentActs } from './payment-acts';
import { paymentsAt } from './payment-filter';
import { Table } from './table';
import { WaitsForSecond } from './waiting';
import { RealTimes, Webhook } from './webhook';
import { customerOf, partsBack, TYPES, whyDeclined } from './words';

interface Props {
  of: TransactionWithEvents;
  done: Done;
}

/** The story of a payment: who paid whom, what became of it and why, and what can be done. */
export function Payment({ of: one, done }: Props) {
  const moment = useMoment();
  return (
    <>
      <Head of={one} done={done} />
      <WaitsForSecond about={[one.reference, ...one.exceptionIds]} since={one} />
      {one.exceptionIds.map((id) => (
        <ExceptionShown id={id} key={id} ofPayment={done} />
      ))}
      <div class="story">
        <section class="card stack" aria-labelledby="happened">
          <h2 id="happened">What has happened</h2>
          <PaymentStory of={one} moment={moment} />
        </section>
        <Details of={one} />
      </div>
      {one.related.length > 1 && <Related of={one} />}
      {one.deliveries.length > 0 && (
        <section class="card stack" aria-labelledby="told">
          <h2 id="told">What you were told by webhook</h2>
          <RealTimes />
          {one.deliveries.map((told) => (
            <Webhook of={told} key={told.deliveryId} />
          ))}
        </section>
      )}
    </>
  );
}

function Head({ of: one, done }: Props) {
  const payee = one.merchantName ?? one.payeeName;
  const moment = useMoment();
  const why = one.declineReason === null ? undefined : whyDeclined(one);
  const back = partsBack(one);
  const isRefunding = one.related.some(({ type, status }) => type === 'refund' && status === 'pending');
  return (
    <section class="card stack">
      <div class="head">
        <div>
          <p class="quiet small">{TYPES[one.type]}</p>
          <h2 class="sum">
            {money(one, one.currency)} <Badge of={one.status} />
          </h2>
          <p>
            {one.type === 'charge' ? 'from' : 'of'} <strong>{customerOf(one)}</strong> at {one.bankName}
            {payee !== null && (
              <>
                {' '}
                to <strong>{payee}</strong>
              </>
            )}
            <span class="quiet"> · {one.description}</span>
          </p>
        </div>
        <PaymentActs of={one} done={done} />
      </div>
      {why !== undefined && (
        <p class="notice bad">
          <strong>{reasonInWords(one.declineReason ?? '')}.</strong> {why}
        </p>
      )}
      {one.expiresAt !== null && (
        <p class="notice">
          <strong>Pending until {moment(one.expiresAt)}.</strong> It is declined if{' '}
          {one.approvalRequired ? 'the customer does not approve it' : 'the bank does not answer'} by then.
        </p>
      )}
      {back.length > 0 && (
        <p class="notice">
          <strong>{back.join('. ')}.</strong>
          {isRefunding && ' The bank has not confirmed all of it yet.'}
        </p>
      )}
    </section>
  );
}

function Details({ of: one }: { of: TransactionWithEvents }) {
  const { role } = useSession();
  const moment = useMoment();
  return (
    <section class="card stack" aria-labelledby="details">
      <h2 id="details">Details</h2>
      <Facts
        of={[
          ['Reference', <Id of={one.reference} />],
          ['Made', moment(one.createdAt)],
          ['Settled', one.settledAt === null ? 'Not settled' : moment(one.settledAt)],
          ['Customer', <CustomerLink of={one} />],
          one.merchantId !== null &&
            role !== 'merchant' && [
              'Merchant',
              <a href={paymentsAt({ merchantId: one.merchantId })}>{one.merchantName}</a>,
            ],
          one.scheduleId !== null && ['Made by', <a href={to('schedules', one.scheduleId)}>its schedule</a>],
          ...Object.entries(one.metadata ?? {}).map(([name, value]) => [name, String(value)] as const),
        ]}
      />
      <Ids
        of={{
          Transaction: one.transactionId,
          Charge: one.billingRequestId,
          Customer: one.customerId,
          Merchant: one.merchantId,
          Bank: one.bankId,
          Schedule: one.scheduleId,
          'At the bank': one.bankTransactionId,
        }}
      />
    </section>
  );
}

function Related({ of: one }: { of: TransactionWithEvents }) {
  return (
    <section class="card stack" aria-labelledby="related">
      <h2 id="related">The charge and what became of it</h2>
      <Table
        caption="The charge, its refunds and reversals"
        rows={one.related}
        keyOf={({ reference }) => reference}
        empty=""
        columns={[
          {
            name: 'Payment',
            cell: ({ type, reference }) =>
              reference === one.reference ? (
                <>{TYPES[type]}, this one</>
              ) : (
                <a href={to('payments', reference)}>{TYPES[type]}</a>
              ),
          },
          { name: 'Amount', number: true, cell: (other) => money(other, other.currency) },
          { name: 'Status', cell: ({ status }) => <Badge of={status} /> },
        ]}
      />
    </section>
  );
}
