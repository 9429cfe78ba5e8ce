import type { Delivery } from '../../../packages/client/src/api.generated';
import { Act } from './act';
import { to } from './address';
import { act, query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment } from './context';
import { Show, useLoaded, useNotice } from './loaded';
import { Badge } from './parts';
import { Pages, Table } from './table';

const STATES = { '': 'All', failed: 'Failed', pending: 'Being tried', delivered: 'Delivered' } as const;

/** Webhooks to the party's own URL, which the reader can send again. */
export function Deliveries() {
  const { chosen: status, page, choose, go } = usePaged<keyof typeof STATES>('');
  const loaded = useLoaded<'listDeliveries'>(`/v1/webhooks/deliveries${query({ status, page })}`);
  const { notice, done } = useNotice(loaded);
  const moment = useMoment();

  return (
    <section class="card stack">
      <div class="row">
        <Choice value={status} names={STATES} choose={choose} />
      </div>
      {notice}
      <Show loaded={loaded} what="The deliveries">
        {(found) => (
          <>
            <Table
              caption="Webhook deliveries"
              rows={found.deliveries}
              keyOf={({ deliveryId }) => deliveryId}
              empty="There is no such delivery of the last days."
              columns={[
                { name: 'Made', cell: ({ createdAt }) => moment(createdAt) },
                {
                  name: 'Webhook',
                  cell: ({ webhookType, deliveryId }) => (
                    <a href={to('payments', deliveryId)}>{webhookType}</a>
                  ),
                },
                {
                  name: 'State',
                  cell: (one) => <Badge of={one.withdrawnAt ? 'withdrawn' : one.status} />,
                },
                { name: 'Attempts', cell: ({ attempts }) => <Attempts attempts={attempts} /> },
                {
                  name: 'Act',
                  cell: (one) =>
                    one.withdrawnAt ? (
                      <span class="quiet small">Its subject has ended</span>
                    ) : (
                      <SendAgain id={one.deliveryId} webhookType={one.webhookType} done={done} />
                    ),
                },
              ]}
            />
            <Pages listed={found} go={go} />
          </>
        )}
      </Show>
    </section>
  );
}

export const SendAgain = ({
  id,
  webhookType,
  done,
}: {
  id: string;
  webhookType: string;
  done: (message: string) => void;
}) => (
  <Act
    name="Send again …"
    label={`Send again: ${webhookType} ${id}`}
    title="Send it again?"
    yes="Yes, send it"
    send={async () => {
      await act(`/v1/webhooks/deliveries/${id}/redeliver`);
      return `${webhookType} is sent once more.`;
    }}
    done={done}
  >
    <p>The same webhook goes to your URL of now, under the same id.</p>
  </Act>
);

export const attemptInWords = ({ error, status, durationMs }: Delivery['attempts'][number]) =>
  `${error ?? `answered ${status}`} after ${durationMs} ms`;

function Attempts({ attempts }: Pick<Delivery, 'attempts'>) {
  const moment = useMoment();
  const last = attempts.at(-1);
  if (last === undefined) return <span class="quiet">None</span>;
  return (
    <>
      {attempts.length}, the last {moment(last.at)}
      <div class="quiet small">{attemptInWords(last)}</div>
    </>
  );
}
