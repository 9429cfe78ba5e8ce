import type { ScheduleWithBillings } from '../../../packages/client/src/api.generated';
import { money } from '../parts/money';
import { useMoment } from './context';
import { SearchLink } from './search-link';
import { Table } from './table';
import { reasonInWords, SCHEDULE_STATES, toneOf } from './words';

/** A schedule and its billings, the latest first. */
export function ScheduleFound({ schedule }: { schedule: ScheduleWithBillings }) {
  const moment = useMoment();
  const { status, interval, frequency, nextBillingDate, retryAt } = schedule;
  return (
    <section class="card stack">
      <h2>
        {schedule.description ?? 'Schedule'} of {money(schedule, schedule.currency)}{' '}
        <span class={`badge ${toneOf(status)}`}>{SCHEDULE_STATES[status]}</span>
      </h2>
      <dl class="facts">
        <dt>How often</dt>
        <dd>{interval === 1 ? frequency : `${frequency}, every ${interval}`}</dd>
        <dt>Next due</dt>
        <dd>{nextBillingDate === null ? 'Never again' : moment(nextBillingDate)}</dd>
        {retryAt !== null && (
          <>
            <dt>Tried again</dt>
            <dd>{moment(retryAt)}</dd>
          </>
        )}
        <dt>Customer</dt>
        <dd>
          <SearchLink of={schedule.customerId} />
        </dd>
        <dt>Id</dt>
        <dd class="mono">{schedule.scheduleId}</dd>
      </dl>
      <Table
        caption="Billings of the schedule"
        rows={schedule.billings.toReversed()}
        keyOf={({ n }) => String(n)}
        empty="Nothing has fallen due yet."
        columns={[
          { name: 'Due', cell: ({ dueDate }) => moment(dueDate) },
          {
            name: 'State',
            cell: (one) => (
              <>
                <span class={`badge ${toneOf(one.status)}`}>{one.status}</span>
                {one.reason && <div class="small">{reasonInWords(one.reason)}</div>}
              </>
            ),
          },
          {
            name: 'Charges made for it',
            cell: ({ attempts }) =>
              attempts.length === 0
                ? '–'
                : attempts.map(({ reference, declineReason, status: outcome }) => (
                    <div key={reference}>
                      <SearchLink of={reference} />{' '}
                      {declineReason === null ? outcome : reasonInWords(declineReason)}
                    </div>
                  )),
          },
        ]}
      />
    </section>
  );
}
