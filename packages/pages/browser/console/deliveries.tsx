import { useState } from 'preact/hooks';
import type { Delivery } from '../../../client/src/api.generated';
import { WEBHOOK_TYPES } from '../../../../src/domain/webhook/webhook';
import { Act } from './act';
import { to, type Address } from './address';
import { act, ask, query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment } from './context';
import { counted } from './figures';
import { Show, useLoaded, useNotice, type Done } from './loaded';
import { Pages, Table } from './table';
import { attemptInWords, DeliveryState, RealTimes, SendAgain, WebhookPage, whyUnattempted } from './webhook';
import { WebhookEndpoint } from './webhook-endpoint';

const STATES = {
  '': 'All',
  failed: 'Failed',
  pending: 'Being tried',
  delivered: 'Delivered',
  withdrawn: 'Withdrawn',
} as const;
const TYPES = { '': 'All', ...Object.fromEntries(WEBHOOK_TYPES.map((one) => [one, one])) };

/** Webhooks to the party's own URL, which the reader can send again. */
export const Deliveries = ({ address: { id, parameters } }: { address: Address }) =>
  id === undefined ? (
    <DeliveryList given={parameters.get('status')} key={String(parameters)} />
  ) : (
    <WebhookPage id={id} key={id} />
  );

const ALL = { status: '' as keyof typeof STATES, webhookType: '', from: '', to: '' };

const DELIVERIES = '/v1/webhooks/deliveries';

/** @param given the filter of the address that led here */
function DeliveryList({ given }: { given: string | null }) {
  const first = { ...ALL, status: (given ?? '') as keyof typeof STATES };
  const { chosen, asked, sorting, choose, go } = usePaged(first);
  const loaded = useLoaded<'listDeliveries'>(`${DELIVERIES}${query({ ...chosen, ...asked })}`);
  const { notice, done } = useNotice(loaded);
  const moment = useMoment();

  return (
    <>
      {notice}
      <WebhookEndpoint done={done} />
      <section class="card stack">
        <div class="row fields">
          <Choice value={chosen.status} names={STATES} choose={(status) => choose({ ...chosen, status })} />
          <Choice
            name="Webhook"
            value={chosen.webhookType}
            names={TYPES}
            choose={(webhookType) => choose({ ...chosen, webhookType })}
          />
          {(['from', 'to'] as const).map((end) => (
            <label key={end}>
              {end === 'from' ? 'Made from' : 'Made to'}
              <input
                type="date"
                value={chosen[end]}
                onChange={(event) => choose({ ...chosen, [end]: event.currentTarget.value })}
              />
            </label>
          ))}
          {chosen.status === 'failed' && loaded.data !== undefined && loaded.data.total > 0 && (
            <SendAllAgain of={chosen} done={done} key={JSON.stringify(chosen)} />
          )}
        </div>
        <RealTimes />
        <Show loaded={loaded} what="The deliveries">
          {(found) => (
            <>
              <Table
                caption="Webhook deliveries"
                rows={found.deliveries}
                keyOf={({ deliveryId }) => deliveryId}
                empty="There is no such delivery of the last days."
                sorting={sorting}
                columns={[
                  { name: 'Made', sortBy: 'createdAt', cell: ({ createdAt }) => moment(createdAt) },
                  {
                    name: 'Webhook',
                    sortBy: 'webhookType',
                    to: ({ deliveryId }) => to('webhooks', deliveryId),
                    cell: ({ webhookType }) => webhookType,
                  },
                  {
                    name: 'State',
                    cell: (one) => <DeliveryState of={one} />,
                  },
                  { name: 'Attempts', cell: (one) => <Attempts of={one} /> },
                  {
                    name: 'Act',
                    cell: (one) =>
                      one.withdrawnAt === undefined && (
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
    </>
  );
}

/** The reader waits a minute or so, with the page open. */
const SENT_MAX = 500;
/** The service takes so many calls of a party, and its own systems need some. */
const EACH_MS = 100;

/** Ids of failed webhooks, oldest first. */
async function failedOf(filter: typeof ALL): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1, isLast = false; !isLast && ids.length < SENT_MAX; page++) {
    const asked = query({ ...filter, page, limit: 100, sortOrder: 'asc' });
    const found = await ask<'listDeliveries'>(`${DELIVERIES}${asked}`);
    ids.push(...found.deliveries.map(({ deliveryId }) => deliveryId));
    isLast = found.deliveries.length < found.limit;
  }
  return ids;
}

/** A webhook that was sent is failed no longer, so a second try goes on where the first broke off. */
function SendAllAgain({ of, done }: { of: typeof ALL; done: Done }) {
  const [sent, setSent] = useState<string>();
  return (
    <Act
      name="Send all again …"
      title="Send all of these again?"
      yes="Yes, send them"
      send={async () => {
        const ids = await failedOf(of);
        for (const [n, id] of ids.entries()) {
          await act(`${DELIVERIES}/${id}/redeliver`);
          setSent(`${n + 1} of ${ids.length} are sent`);
          await new Promise((later) => setTimeout(later, EACH_MS));
        }
        setSent(undefined);
        return `${counted(ids.length, 'webhook')} sent once more.`;
      }}
      done={done}
    >
      <p>
        The failed webhooks of this list go to your URL of now, under the same ids: the oldest first, at most{' '}
        {SENT_MAX}.
      </p>
      <p role="status">{sent}</p>
    </Act>
  );
}

function Attempts({ of }: { of: Delivery }) {
  const moment = useMoment();
  const last = of.attempts.at(-1);
  if (last === undefined) return <span class="quiet">{whyUnattempted(of)}</span>;
  return (
    <>
      {of.attempts.length}, the last {moment(last.at)}
      <div class="quiet small">{attemptInWords(last)}</div>
    </>
  );
}
