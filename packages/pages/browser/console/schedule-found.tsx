import type { ScheduleWithBillings, SubscriptionWithBillings } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { hasEnded, isHeld, reasonInWords } from '../parts/payment-words';
import { Act } from './act';
import { to } from './address';
import { act, change } from './api';
import { useDraft } from './choice';
import { useMoment, useSession } from './context';
import { Show, useLoaded, useNotice, type Done } from './loaded';
import { AllOf, AmountField, Badge, CustomerLink, Facts, Ids } from './parts';
import { CancelSchedule, PauseSchedule, schedulesFor } from './payment-acts';
import { paymentsAt } from './payment-filter';
import { Table } from './table';
import { customerOf, merchantOf, rhythmOf } from './words';

type Either = ScheduleWithBillings | SubscriptionWithBillings;

export function ScheduleShown({ id }: { id: string }) {
  const { role } = useSession();
  const loaded = useLoaded<'getSchedule' | 'getSubscription'>(
    `${schedulesFor(role)}/${encodeURIComponent(id)}`,
  );
  const { notice, done } = useNotice(loaded);
  return (
    <>
      <AllOf page="schedules" />
      {notice}
      <Show loaded={loaded} what="The schedule">
        {(schedule) => <Found schedule={schedule} done={done} />}
      </Show>
    </>
  );
}

function Found({ schedule, done }: { schedule: Either; done: Done }) {
  const { role } = useSession();
  const moment = useMoment();
  const { scheduleId: id, status, suspendedReason, nextBillingDate, retryAt } = schedule;
  const due = nextBillingDate === null ? 'Never again' : moment(nextBillingDate);
  const metadata = 'metadata' in schedule ? schedule.metadata : {};
  return (
    <section class="card stack">
      <div class="head">
        <div>
          <p class="quiet small">{schedule.description ?? 'Schedule'}</p>
          <h2 class="sum">
            {money(schedule, schedule.currency)} <Badge of={status} />
          </h2>
          <p>
            {rhythmOf(schedule)}, from <strong>{customerOf(schedule)}</strong> to{' '}
            <strong>{merchantOf(schedule)}</strong>
          </p>
        </div>
        {!hasEnded(status) && (
          <div class="row">
            {role !== 'bank' && <ChangeAmount of={schedule} done={done} />}
            {role !== 'bank' &&
              (status === 'paused' ? <Resume id={id} done={done} /> : <PauseSchedule id={id} done={done} />)}
            <CancelSchedule id={id} done={done} />
          </div>
        )}
      </div>
      <Facts
        of={[
          ['Next due', isHeld(status) ? `Nothing while it is ${status}` : due],
          suspendedReason !== null && ['Suspended', reasonInWords(suspendedReason)],
          retryAt !== null && ['Tried again', moment(retryAt)],
          ['Customer', <CustomerLink of={schedule} />],
          ['Payments', <a href={paymentsAt({ scheduleId: id })}>All that it has charged</a>],
          ...Object.entries(metadata).map(([name, value]) => [name, String(value)] as const),
        ]}
      />
      <Ids of={{ Schedule: id, Customer: schedule.customerId }} />
      <Billings of={schedule} />
    </section>
  );
}

function ChangeAmount({ of: { scheduleId, amount: before, currency }, done }: { of: Either; done: Done }) {
  const [given, setGiven] = useDraft(String(before));
  const amount = money(Number(given), currency);
  return (
    <Act
      name="Change its amount …"
      lowest="admin"
      title="Change the amount?"
      yes={`Yes, charge ${amount}`}
      send={async () => {
        const path = `/v1/billing/recurring/${scheduleId}`;
        await change<'changeSchedule'>('PATCH', path, { amount: Number(given) });
        return `It charges ${amount} from now on.`;
      }}
      done={done}
    >
      <p>
        It charges {money(before, currency)} so far. A charge that has begun, or that the customer was told
        of, is not raised.
      </p>
      <AmountField
        label={`New amount, in ${currency}`}
        required
        value={given}
        onInput={(event) => setGiven(event.currentTarget.value)}
      />
    </Act>
  );
}

const Resume = ({ id, done }: { id: string; done: Done }) => (
  <Act
    name="Resume it …"
    title="Resume the schedule?"
    yes="Yes, resume it"
    send={() => act(`/v1/billing/recurring/${id}/resume`)}
    done={done}
  >
    <p>It charges again from its next due date on.</p>
  </Act>
);

function Billings({ of: { status: state, billings: all } }: { of: Either }) {
  const moment = useMoment();
  const billings = all.filter(({ status }) => status !== 'scheduled' || !isHeld(state));
  return (
    <Table
      caption="Billings of the schedule"
      rows={billings.toReversed()}
      keyOf={({ n }) => String(n)}
      empty="Nothing has fallen due yet."
      columns={[
        { name: 'Due', cell: ({ dueDate }) => moment(dueDate) },
        {
          name: 'State',
          cell: (one) => (
            <>
              <Badge of={one.status} />
              {one.reason && <div class="small">{reasonInWords(one.reason)}</div>}
            </>
          ),
        },
        {
          name: 'Charges made for it',
          cell: ({ attempts }) =>
            attempts.length === 0
              ? '–'
              : attempts.map(({ reference, at, declineReason, status }) => (
                  <div key={reference}>
                    <a href={to('payments', reference)}>{moment(at)}</a>:{' '}
                    {declineReason === null ? status : reasonInWords(declineReason)}
                  </div>
                )),
        },
      ]}
    />
  );
}
