import { useState } from 'preact/hooks';
import { useMoment } from './context';
import { attemptInWords, SendAgain } from './deliveries';
import { Show, useLoaded, useNotice } from './loaded';
import { Badge, Id } from './parts';

interface Told {
  deliveryId: string;
  webhookType: string;
  status: string;
  createdAt: string;
}

/** One webhook. Once it is opened: whether it arrived, why not, and what it says. */
export function Webhook({ of, isOpen = false }: { of: Told; isOpen?: boolean }) {
  const [isWanted, want] = useState(isOpen);
  const { deliveryId: id, webhookType, createdAt } = of;
  const loaded = useLoaded<'getDelivery'>(isWanted ? `/v1/webhooks/deliveries/${id}` : undefined);
  const { notice, done } = useNotice(loaded);
  const moment = useMoment();
  const isWithdrawn = loaded.data?.withdrawnAt !== undefined;
  return (
    <details class="part" open={isOpen} onToggle={({ currentTarget }) => currentTarget.open && want(true)}>
      <summary>
        {webhookType} <Badge of={isWithdrawn ? 'withdrawn' : (loaded.data ?? of).status} />
        <span class="quiet small"> {moment(createdAt)}</span>
      </summary>
      {notice}
      <Show loaded={loaded} what="The webhook">
        {({ status, attempts, body }) => (
          <div class="stack">
            {attempts.length === 0 ? (
              <p class="quiet small">
                {status === 'failed' ? 'You had no URL to send it to.' : 'It was not attempted yet.'}
              </p>
            ) : (
              <ul class="small">
                {attempts.map((one) => (
                  <li key={one.at}>
                    {moment(one.at)}: {attemptInWords(one)}
                  </li>
                ))}
              </ul>
            )}
            {body === null ? <p class="quiet">It cannot be read any more.</p> : <pre>{indented(body)}</pre>}
            <Id of={id} />
            {!isWithdrawn && (
              <div>
                <SendAgain id={id} webhookType={webhookType} done={done} />
              </div>
            )}
          </div>
        )}
      </Show>
    </details>
  );
}

const indented = (body: string) => JSON.stringify(JSON.parse(body), null, 2);
