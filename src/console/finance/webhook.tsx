import { useMoment } from './context';
import { attemptInWords, SendAgain } from './deliveries';
import { Show, useLoaded, useNotice } from './loaded';
import { Badge, Id } from './parts';

/** One webhook: whether it arrived, why not, and what it says. */
export function Webhook({ id }: { id: string }) {
  const loaded = useLoaded<'getDelivery'>(`/v1/webhooks/deliveries/${id}`);
  const { notice, done } = useNotice(loaded);
  const moment = useMoment();
  return (
    <Show loaded={loaded} what="The webhook">
      {({ webhookType, status, createdAt, withdrawnAt, attempts, body }) => (
        <article class="part stack">
          <div class="head">
            <h3>
              {webhookType} <Badge of={withdrawnAt === undefined ? status : 'withdrawn'} />
              <span class="quiet small"> {moment(createdAt)}</span>
            </h3>
            {withdrawnAt === undefined && <SendAgain id={id} webhookType={webhookType} done={done} />}
          </div>
          {notice}
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
          <details>
            <summary>What it says</summary>
            {body === null ? <p class="quiet">It cannot be read any more.</p> : <pre>{indented(body)}</pre>}
            <Id of={id} />
          </details>
        </article>
      )}
    </Show>
  );
}

const indented = (body: string) => JSON.stringify(JSON.parse(body), null, 2);
