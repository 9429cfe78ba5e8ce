import { useState } from 'preact/hooks';
import type { Delivery, DeliveryOfTransaction } from '../../../client/src/api.generated';
import { Act } from './act';
import { act, type DataOf } from './api';
import { useMoment, useSession } from './context';
import { Show, useLoaded, useNotice, type Done } from './loaded';
import { AllOf, Badge, Facts, Id, RecordLink } from './parts';

type ShownDelivery = DeliveryOfTransaction & Pick<Delivery, 'withdrawnAt'>;

/** A test clock dates payments, and never a webhook. */
export const RealTimes = () =>
  useSession().testClocks ? (
    <p class="quiet small">Webhooks have the real time, payments the time of a test clock.</p>
  ) : null;

/** One webhook of a payment. Once it is opened: whether it arrived, why not, and what it says. */
export function Webhook({ of }: { of: ShownDelivery }) {
  const [isWanted, want] = useState(false);
  const loaded = useLoaded<'getDelivery'>(isWanted ? at(of.deliveryId) : undefined);
  const { notice, done } = useNotice(loaded);
  return (
    <details class="part" onToggle={({ currentTarget }) => currentTarget.open && want(true)}>
      <summary>
        <Named of={loaded.data ?? of} />
      </summary>
      {notice}
      <Show loaded={loaded} what="The webhook">
        {(delivery) => <Attempted of={delivery} done={done} />}
      </Show>
    </details>
  );
}

/** One webhook as a page, with links to what it tells of. */
export function WebhookPage({ id }: { id: string }) {
  const loaded = useLoaded<'getDelivery'>(at(encodeURIComponent(id)));
  const { notice, done } = useNotice(loaded);
  return (
    <>
      <AllOf page="webhooks" />
      {notice}
      <Show loaded={loaded} what="The webhook">
        {(delivery) => (
          <section class="card stack">
            <h2>
              <Named of={delivery} />
            </h2>
            <RealTimes />
            <Attempted of={delivery} done={done} />
            {delivery.body !== null && <Subjects of={delivery.body} />}
          </section>
        )}
      </Show>
    </>
  );
}

const at = (id: string) => `/v1/webhooks/deliveries/${id}`;

export const DeliveryState = ({ of: { status, withdrawnAt } }: { of: ShownDelivery }) => (
  <Badge of={withdrawnAt === undefined ? status : 'withdrawn'} />
);

function Named({ of }: { of: ShownDelivery }) {
  const moment = useMoment();
  return (
    <>
      {of.webhookType} <DeliveryState of={of} />
      <span class="quiet small"> {moment(of.createdAt)}</span>
    </>
  );
}

function Attempted({ of, done }: { of: DataOf<'getDelivery'>; done: Done }) {
  const moment = useMoment();
  const { deliveryId: id, webhookType, attempts, body, withdrawnAt } = of;
  return (
    <div class="stack">
      {attempts.length === 0 ? (
        <p class="quiet small">{whyUnattempted(of)}</p>
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
      {withdrawnAt === undefined && (
        <div>
          <SendAgain id={id} webhookType={webhookType} done={done} />
        </div>
      )}
    </div>
  );
}

const indented = (body: string) => JSON.stringify(JSON.parse(body), null, 2);

export const SendAgain = ({ id, webhookType, done }: { id: string; webhookType: string; done: Done }) => (
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

export function whyUnattempted({ status, withdrawnAt }: Pick<Delivery, 'status' | 'withdrawnAt'>): string {
  if (withdrawnAt !== undefined) return 'Its subject ended before it was sent.';
  return status === 'failed' ? 'You had no URL to send it to.' : 'It was not attempted yet.';
}

export const attemptInWords = ({ error, status, durationMs }: Delivery['attempts'][number]) =>
  `${error ?? `answered ${status}`} after ${durationMs} ms`;

const IS_RECORD = /^(brq|rfd|int|sch|exc)_/;
/** A webhook of a large call tells of a hundred. */
const SUBJECTS_MAX = 10;

/** Links to the records that the items of a webhook tell of. */
function Subjects({ of }: { of: string }) {
  const { data } = JSON.parse(of) as { data: Record<string, unknown>[] };
  const ids = data.flatMap((item) => Object.values(item).filter((value) => IS_RECORD.test(String(value))));
  const found = [...new Set(ids.map(String))].slice(0, SUBJECTS_MAX);
  const links = found.map((id) => (
    <div key={id}>
      <RecordLink of={id} />
    </div>
  ));
  return <Facts of={[found.length > 0 && ['It tells of', links]]} />;
}
