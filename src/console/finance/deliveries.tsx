import { useState } from 'preact/hooks';
import type { Delivery } from '../../../packages/client/src/api.generated';
import { act, query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment } from './context';
import { inWords, Show, useLoaded } from './loaded';
import { Pages, Table } from './table';
import { toneOf } from './words';

const STATES = { '': 'All', failed: 'Failed', pending: 'Being tried', delivered: 'Delivered' } as const;

/** Webhooks to the party's own URL, which the reader can send again. */
export function Deliveries() {
  const { chosen: status, page, choose, go } = usePaged<keyof typeof STATES>('');
  const [notice, setNotice] = useState<{ text: string; bad: boolean }>();
  const [sending, setSending] = useState<string>();
  const loaded = useLoaded<'listDeliveries'>(`/v1/webhooks/deliveries${query({ status, page })}`);
  const moment = useMoment();

  async function redeliver({ deliveryId, webhookType }: Delivery): Promise<void> {
    setSending(deliveryId);
    try {
      await act(`/v1/webhooks/deliveries/${deliveryId}/redeliver`);
      setNotice({ text: `${webhookType} ${deliveryId} is sent once more.`, bad: false });
      loaded.reload();
    } catch (refused) {
      setNotice({ text: `It was not sent. ${inWords(refused)}`, bad: true });
    } finally {
      setSending(undefined);
    }
  }

  return (
    <section class="card stack">
      <Choice value={status} names={STATES} choose={choose} />
      <div role="status">{notice && <p class={`notice ${notice.bad ? 'bad' : ''}`}>{notice.text}</p>}</div>
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
                    <>
                      {webhookType}
                      <div class="mono quiet">{deliveryId}</div>
                    </>
                  ),
                },
                {
                  name: 'State',
                  cell: (one) => (
                    <span class={`badge ${toneOf(one.status)}`}>
                      {one.withdrawnAt ? 'withdrawn' : one.status}
                    </span>
                  ),
                },
                { name: 'Attempts', cell: ({ attempts }) => <Attempts attempts={attempts} /> },
                {
                  name: 'Act',
                  cell: (one) =>
                    one.withdrawnAt ? (
                      <span class="quiet small">Its subject has ended</span>
                    ) : (
                      <button
                        type="button"
                        disabled={sending !== undefined}
                        aria-label={`Send again: ${one.webhookType} ${one.deliveryId}`}
                        onClick={() => void redeliver(one)}
                      >
                        Send again
                      </button>
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
