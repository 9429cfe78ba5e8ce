import { useState } from 'preact/hooks';
import type { FoundSchedule, Schedule } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { isHeld, reasonInWords } from '../parts/payment-words';
import { go, to, type Address } from './address';
import { query } from './api';
import { Choice, usePaged, type Sorting } from './choice';
import { useMoment, useSession } from './context';
import { isDay, longDay } from './days';
import { Show, useLoaded } from './loaded';
import { Badge, CustomerLink } from './parts';
import { Save } from './save';
import { ScheduleShown } from './schedule-found';
import { SearchForm } from './search-form';
import { Pages, Table, type Column } from './table';
import { merchantOf, rhythmOf, stateInWords } from './words';

type Status = Schedule['status'];

/** States that need attention come first. */
const STATES = ['past_due', 'suspended', 'paused', 'failed', 'active', 'completed', 'cancelled'] as const;
const STATE_NAMES = Object.fromEntries([
  ['', 'All'],
  ...STATES.map((one) => [one, stateInWords(one)] as const),
]) as Record<Status | '', string>;

export function Schedules({ address }: { address: Address }) {
  const { id } = address;
  return id === undefined ? <ScheduleList {...address} /> : <ScheduleShown id={id} key={id} />;
}

function ScheduleList({ parameters }: Address) {
  const { name } = useSession();
  const [search, look] = useState('');
  const status = (parameters.get('status') ?? '') as Status | '';
  const dueOn = parameters.get('dueOn') ?? '';
  const dueInDays = parameters.get('dueInDays') ?? '';
  const body = {
    ...(status !== '' && { status }),
    ...(isDay(dueOn) && { dueOn, dueInDays: Number(dueInDays) }),
    ...(search !== '' && { search }),
  };
  return (
    <section class="card stack">
      <SearchForm name="Search by description, customer, merchant or id" text={search} look={look} />
      <div class="head">
        <Choice
          value={status}
          names={STATE_NAMES}
          choose={(next) => go(schedulesAt({ status: next, dueOn, dueInDays }))}
        />
        {isDay(dueOn) && (
          <button type="button" class="chip" onClick={() => go(schedulesAt({ status }))}>
            Due on {longDay(dueOn)} ×
          </button>
        )}
        <Save path={SEARCH} body={body} name={`${name} schedules ${status || 'all'}`}>
          Download as CSV
        </Save>
      </div>
      <FoundSchedules body={body} key={JSON.stringify(body)} />
    </section>
  );
}

export function FoundSchedules({ body }: { body: { status?: string; customerId?: string } }) {
  const { asked, sorting, go: turn } = usePaged(body);
  const loaded = useLoaded<'searchSchedules'>(SEARCH + query(asked), body);
  return (
    <Show loaded={loaded} what="The schedules">
      {(found) => (
        <>
          <Found found={found.schedules} status={body.status} sorting={sorting} />
          <Pages listed={found} go={turn} />
        </>
      )}
    </Show>
  );
}

export const schedulesAt = (filter: Record<string, string>) => to('schedules') + query(filter);

const SEARCH = '/v1/billing/recurring/search';

function Found({
  found,
  status,
  sorting,
}: {
  found: FoundSchedule[];
  status: string | undefined;
  sorting: Sorting;
}) {
  const moment = useMoment();
  const { role } = useSession();
  const columns: Column<FoundSchedule>[] = [
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
    { name: 'Customer', cell: (one) => <CustomerLink of={one} /> },
    { name: 'Amount', number: true, sortBy: 'amount', cell: (one) => money(one, one.currency) },
    { name: 'State', cell: (one) => <Why of={one} /> },
    {
      name: 'Next try',
      sortBy: 'nextBillingDate',
      cell: (one) => {
        const next = one.retryAt ?? one.nextBillingDate;
        return next === null || isHeld(one.status) ? '–' : moment(next);
      },
    },
  ];
  return (
    <Table
      caption={`Schedules: ${stateInWords(status ?? 'all')}`}
      columns={columns}
      sorting={sorting}
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

function Why({ of: { status, lastDecline, suspendedReason } }: { of: FoundSchedule }) {
  const moment = useMoment();
  const reason = suspendedReason ?? lastDecline?.reason;
  return (
    <>
      <Badge of={status} />
      {reason !== undefined && <div class="small">{reasonInWords(reason)}</div>}
      {lastDecline !== null && <div class="quiet small">{moment(lastDecline.at)}</div>}
    </>
  );
}
