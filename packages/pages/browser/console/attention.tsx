import { to } from './address';
import { ask, type DataOf } from './api';
import { useSession } from './context';
import { counted } from './figures';
import { Show, useAnswered } from './loaded';
import { schedulesFor } from './payment-acts';

type Counted = Pick<DataOf<'listExceptions'>, 'total' | 'totalIsMinimum'>;

/** What waits for a person, with the way to its list; nothing where nothing waits. */
export function Attention() {
  const { role } = useSession();
  const schedules = schedulesFor(role);
  /** The filter is that of the page, and of the API. */
  const lists = [
    ['open exception', 'exceptions', 'state=open', '/v1/reconciliation/exceptions'],
    ['failed webhook', 'webhooks', 'status=failed', '/v1/webhooks/deliveries'],
    ['past-due schedule', 'schedules', 'status=past_due', schedules],
    ['suspended schedule', 'schedules', 'status=suspended', schedules],
  ] as const;
  const count = async ([one, page, filter, path]: (typeof lists)[number]) => {
    const found: Counted = await ask<'listExceptions'>(`${path}?${filter}&limit=1`);
    return { ...found, one, at: `${to(page)}?${filter}` };
  };
  const loaded = useAnswered('lists', () => Promise.all(lists.map(count)));
  return (
    <Show loaded={loaded} what="What needs attention">
      {(all) => {
        const waiting = all.filter(({ total }) => total > 0);
        if (waiting.length === 0) return null;
        return (
          <section class="card stack" aria-labelledby="attention">
            <h2 id="attention">Needs attention</h2>
            <div class="row">
              {waiting.map(({ one, at, total, totalIsMinimum }) => (
                <a key={at} class="button" href={at}>
                  {totalIsMinimum && 'At least '}
                  {counted(total, one)}
                </a>
              ))}
            </div>
          </section>
        );
      }}
    </Show>
  );
}
