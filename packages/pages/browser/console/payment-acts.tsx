import { useState } from 'preact/hooks';
import type { TransactionWithEvents } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { Act } from './act';
import { act, change, Refusal, type Session } from './api';
import { ChargeAgain } from './charge-again';
import { useSession } from './context';
import type { Done } from './loaded';
import { AmountField } from './parts';

interface Props {
  of: TransactionWithEvents;
  done: Done;
}

/** Acts on a payment, for the party that may take them. */
export function PaymentActs({ of: one, done }: Props) {
  const { role } = useSession();
  if (one.type !== 'charge') return null;
  if (role === 'bank')
    return one.scheduleId === null ? null : <CancelSchedule id={one.scheduleId} done={done} />;
  const left = Math.round((one.amount - one.refundedAmount - one.reversedAmount) * 1e4) / 1e4;
  return (
    <div class="row">
      {one.status === 'successful' && left > 0 && role === 'merchant' && (
        <Refund of={one} left={left} done={done} key={left} />
      )}
      {one.status === 'declined' &&
        role === 'merchant' &&
        // A schedule tries again by itself, and nobody overrules a customer.
        one.scheduleId === null &&
        one.declineReason !== 'denied' && <ChargeAgain of={one} done={done} />}
      {one.approvalRequired && (
        <Act
          name="Cancel …"
          title="Cancel this charge?"
          yes="Yes, cancel it"
          send={() => act(`/v1/billing/requests/${one.billingRequestId}/cancel`)}
          done={done}
        >
          <p>{money(one, one.currency)} is not taken, unless the customer has approved it meanwhile.</p>
        </Act>
      )}
      {one.scheduleId !== null && <PauseSchedule id={one.scheduleId} done={done} />}
    </div>
  );
}

interface Named {
  id: string;
  done: Done;
}

export const PauseSchedule = ({ id, done }: Named) => (
  <Act
    name="Pause its schedule …"
    title="Pause the schedule?"
    yes="Yes, pause it"
    send={() => act(`/v1/billing/recurring/${id}/pause`)}
    done={done}
  >
    <p>Nothing more is charged until it is resumed; what falls due meanwhile is skipped for good.</p>
  </Act>
);

/** A bank sees schedules as what its customers have subscribed to. */
export const schedulesFor = (role: Session['role']) =>
  role === 'bank' ? '/v1/bank/customer/subscriptions' : '/v1/billing/recurring';

export function CancelSchedule({ id, done }: Named) {
  const { role } = useSession();
  return (
    <Act
      name="Cancel its schedule …"
      title="Cancel the schedule?"
      yes="Yes, cancel it for good"
      send={() => act(`${schedulesFor(role)}/${id}/cancel`)}
      done={done}
    >
      <p>It ends for good. A charge that is pending runs to its end; the other side is told.</p>
    </Act>
  );
}

/** The same request sent again, because its answer was lost, makes no second refund. */
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

const UNSURE = 'An earlier try may have arrived: reload this page to see, before you try again.';

function Refund({ of: one, left, done }: Props & { left: number }) {
  const [amount, setAmount] = useState(String(left));
  const [reason, setReason] = useState('');
  const [key, setKey] = useState(newKey);
  const [isUnsure, setUnsure] = useState(false);
  const taking =
    (set: (text: string) => void) =>
    ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) => {
      set(value);
      // One that may have arrived keeps its key, by which the service refuses a changed one.
      if (!isUnsure) setKey(newKey());
    };
  return (
    <Act
      name="Refund …"
      title="Refund this charge?"
      yes={`Yes, refund ${money(Number(amount), one.currency)}`}
      send={async () => {
        const sum = Number(amount);
        const wish = { reference: one.reference, amount: sum, ...(reason !== '' && { reason }) };
        const { message, waits } = await change('POST', '/v1/refunds/initiate', wish, key).catch(
          (error: unknown) => {
            const isRefused = error instanceof Refusal && error.status >= 400 && error.status < 500;
            setUnsure(isUnsure || !isRefused);
            throw isUnsure ? new Refusal(0, UNSURE) : error;
          },
        );
        // The same amount once more is another refund.
        setKey(newKey());
        return waits
          ? message
          : `${money(sum, one.currency)} is on its way back: the bank makes the transfer.`;
      }}
      done={done}
    >
      <AmountField
        label={`Amount, of ${money(left, one.currency)} that is left`}
        required
        max={left}
        value={amount}
        onInput={taking(setAmount)}
      />
      <label>
        Reason, which the customer’s bank reads, and may show to the customer
        <input maxLength={500} value={reason} onInput={taking(setReason)} />
      </label>
    </Act>
  );
}
