import { useState } from 'preact/hooks';
import { money } from '../parts/money';
import { hasEnded, isHeld } from '../parts/payment-words';
import { momentIn } from '../parts/time';
import { Badge, Said, WorkflowLink } from './parts';
import { useAct } from './server';
import type { Charge, SandboxState, Schedule } from '../../../sandbox/src/state';
import { exceptionWords, scheduleStanding, standingOf } from './words';

/** A button shows the rest. */
const CHARGES_FIRST = 6;

export function Charged({ state }: { state: SandboxState }) {
  return (
    <section class="card stack charged" aria-labelledby="charged">
      <h2 id="charged">What was charged</h2>
      <Schedules state={state} />
      <Charges state={state} />
    </section>
  );
}

function Schedules({ state }: { state: SandboxState }) {
  if (state.schedules.length === 0) return null;
  return (
    <div class="stack">
      <h3>Monthly charges</h3>
      <ul class="items">
        {state.schedules.map((schedule) => (
          <ScheduleItem key={schedule.scheduleId} schedule={schedule} state={state} />
        ))}
      </ul>
    </div>
  );
}

function ScheduleItem({ schedule, state }: { schedule: Schedule; state: SandboxState }) {
  const act = useAct();
  const { scheduleId, status, nextBillingDate, billingsCompleted } = schedule;
  const name = nameOf(state, schedule.customerId);
  const steer = (which: 'pause' | 'resume' | 'cancel', words: string) => (
    <button
      type="button"
      disabled={act.isBusy}
      aria-label={`${words} the monthly charge of ${name}`}
      onClick={() => void act.press('steer', { scheduleId, act: which })}
    >
      {words}
    </button>
  );
  return (
    <li class="stack">
      <div class="row apart">
        <span>
          <strong class="amount">{money(schedule.amount, schedule.currency)}</strong> a month from {name}
        </span>
        <Badge standing={scheduleStanding(schedule, state.charges)} />
      </div>
      <div class="row apart">
        <span class="small quiet">
          {billingsCompleted} billed
          {nextBillingDate !== null &&
            !isHeld(status) &&
            `, next on ${momentIn(state.timeZone, 'day')(nextBillingDate)}`}
        </span>
        <WorkflowLink url={state.workflowUrl} id={schedule.workflowId} of={`the schedule of ${name}`} />
      </div>
      {!hasEnded(status) && (
        <div class="row">
          {status === 'paused' ? steer('resume', 'Resume') : steer('pause', 'Pause')}
          {steer('cancel', 'Cancel')}
        </div>
      )}
      <Said outcome={act.outcome} />
    </li>
  );
}

function Charges({ state }: { state: SandboxState }) {
  const [isAll, setAll] = useState(false);
  const { charges } = state;
  const shown = isAll ? charges : charges.slice(0, CHARGES_FIRST);
  return (
    <div class="stack">
      {state.schedules.length > 0 && <h3>Charges</h3>}
      {charges.length === 0 && <p class="quiet small">None yet: press “Charge once” in the shop.</p>}
      <ul class="items">
        {shown.map((charge) => (
          <ChargeItem key={charge.billingRequestId} charge={charge} state={state} />
        ))}
      </ul>
      {charges.length > CHARGES_FIRST && (
        <button type="button" class="plain" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show fewer' : `Show all ${charges.length}`}
        </button>
      )}
    </div>
  );
}

export function ChargeItem({ charge, state }: { charge: Charge; state: SandboxState }) {
  const act = useAct();
  const { reference, exception, status, amount, currency, refundedAmount } = charge;
  const name = nameOf(state, charge.customerId);
  const refund = state.refunds.find(({ originalReference }) => originalReference === reference);
  const canRefund = status === 'successful' && refundedAmount === 0 && refund?.status !== 'pending';
  return (
    <li class="stack">
      <div class="row apart">
        <span>
          <strong class="amount">{money(amount, currency)}</strong> from {name}
        </span>
        <Badge standing={standingOf(charge, state)} />
      </div>
      {exception !== null && <p class="notice bad small">Exception: {exceptionWords(exception)}.</p>}
      <div class="row apart">
        <span class="small quiet">
          {charge.description}, {momentIn(state.timeZone, 'minute')(charge.createdAt)}
          {charge.attempt > 1 && `, try ${charge.attempt}`}
        </span>
        <span class="row">
          {refund && (
            <WorkflowLink url={state.workflowUrl} id={refund.workflowId} of={`the refund of ${reference}`} />
          )}
          <WorkflowLink url={state.workflowUrl} id={charge.workflowId} of={`charge ${reference}`} />
          {canRefund && (
            <button
              type="button"
              class="plain"
              disabled={act.isBusy}
              aria-label={`Refund ${money(amount, currency)} to ${name}, ${reference}`}
              onClick={() => void act.press('refund', { reference })}
            >
              Refund
            </button>
          )}
        </span>
      </div>
      <Said outcome={act.outcome} />
    </li>
  );
}

export function nameOf({ customers }: SandboxState, customerId: string): string {
  return customers.find((one) => one.customerId === customerId)?.name ?? 'a customer';
}
