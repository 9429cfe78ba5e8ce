import type { ScheduleWithBillings } from '../../../packages/client/src/api.generated';
import { money } from '../parts/money';
import { useMoment } from './context';
import { Facts, Id } from './facts';
import { SearchLink } from './search-link';
import { Table } from './table';
import { reasonInWords, SCHEDULE_STATES, toneOf } from './words';

export function ScheduleFound({ schedule }: { schedule: ScheduleWithBillings }) {
  const moment = useMoment();
  const { status, interval, frequency, nextBillingDate, retryAt } = schedule;
  return (
    <section class="card stack">
      <h2>
        {schedule.description ?? 'Schedule'} of {money(schedule, schedule.currency)}{' '}
        <span class={`badge ${toneOf(status)}`}>{SCHEDULE_STATES[status]}</span>
      </h2>
      <Facts
        of={[
          ['How often', interval === 1 ? frequency : `${frequency}, every ${interval}`],
          ['Next due', nextBillingDate === null ? 'Never again' : moment(nextBillingDate)],
          retryAt !== null && ['Tried again', moment(retryAt)],
          ['Customer', <SearchLink of={schedule.customerId} />],
          ['Id', <Id of={schedule.scheduleId} />],
        ]}
      />
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
