import type { Schedule } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { isHeld, reasonInWords } from '../parts/payment-words';
import { to, type Address } from './address';
import { query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment, useSession } from './context';
import { Show, useLoaded } from './loaded';
import { Badge } from './parts';
import { schedulesFor } from './payment-acts';
import { ScheduleShown } from './schedule-found';
import { Pages, Table, type Column } from './table';
import { customerOf, merchantOf, rhythmOf, stateInWords, type Listed } from './words';

type Status = Schedule['status'];

/** States that need attention come first. */
const STATES = ['past_due', 'suspended', 'paused', 'failed', 'active', 'completed', 'cancelled'] as const;
const STATE_NAMES = Object.fromEntries(STATES.map((one) => [one, stateInWords(one)])) as Record<
  Status,
  string
>;

export function Schedules({ address: { id } }: { address: Address }) {
  return id === undefined ? <ScheduleList /> : <ScheduleShown id={id} key={id} />;
}

/** Opens at the past due schedules, which need attention. */
function ScheduleList() {
  const { role } = useSession();
  const { chosen: status, page, choose, go } = usePaged<Status>('past_due');
  const loaded = useLoaded<'listSubscriptions' | 'listSchedules'>(
    `${schedulesFor(role)}${query({ status, page })}`,
  );
  return (
    <section class="card stack">
      <div class="row">
        <Choice value={status} names={STATE_NAMES} choose={choose} />
      </div>
      <Show loaded={loaded} what="The schedules">
        {(found) => (
          <>
            <Found found={'schedules' in found ? found.schedules : found.subscriptions} status={status} />
            <Pages listed={found} go={go} />
          </>
        )}
      </Show>
    </section>
  );
}

function Found({ found, status }: { found: Listed[]; status: Status }) {
  const moment = useMoment();
  const { role } = useSession();
  const columns: Column<Listed>[] = [
    {
      name: 'Schedule',
      cell: (one) => (
        <>
          <a class="whole" href={to('schedules', one.scheduleId)}>
            {one.description ?? 'Without a description'}
          </a>
          <div class="quiet small">{rhythmOf(one)}</div>
        </>
      ),
    },
    ...(role === 'merchant' ? [] : [{ name: 'Merchant', cell: merchantOf }]),
    { name: 'Customer', cell: customerOf },
    { name: 'Amount', number: true, cell: (one) => money(one, one.currency) },
    {
      name: status === 'past_due' || status === 'suspended' ? 'Why' : 'State',
      cell: (one) => <Why of={one} />,
    },
    {
      name: 'Next try',
      cell: ({ retryAt, nextBillingDate }) => {
        const next = retryAt ?? nextBillingDate;
        return next === null || isHeld(status) ? '–' : moment(next);
      },
    },
  ];
  return (
    <Table
      caption={`Schedules: ${stateInWords(status)}`}
      columns={columns}
      rows={found}
      keyOf={({ scheduleId }) => scheduleId}
      empty={
        status === 'past_due'
          ? 'No schedule is past due: every charge that was declined has been made up for, or given up.'
          : 'There is no such schedule.'
      }
    />
  );
}

function Why({ of: { status, lastDecline, suspendedReason } }: { of: Listed }) {
  const moment = useMoment();
  if (suspendedReason !== null) return reasonInWords(suspendedReason);
  if (lastDecline === null) return <Badge of={status} />;
  return (
    <>
      {reasonInWords(lastDecline.reason)}
      <div class="quiet small">{moment(lastDecline.at)}</div>
    </>
  );
}
