import type { Delivery } from '../../../client/src/api.generated';
import { to, type Address } from './address';
import { query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment } from './context';
import { Show, useLoaded, useNotice } from './loaded';
import { Pages, Table } from './table';
import { attemptInWords, DeliveryState, RealTimes, SendAgain, WebhookPage, whyUnattempted } from './webhook';

const STATES = {
  '': 'All',
  failed: 'Failed',
  pending: 'Being tried',
  delivered: 'Delivered',
  withdrawn: 'Withdrawn',
} as const;

/** Webhooks to the party's own URL, which the reader can send again. */
export const Deliveries = ({ address }: { address: Address }) =>
  address.id === undefined ? (
    <DeliveryList address={address} />
  ) : (
    <WebhookPage id={address.id} key={address.id} />
  );

function DeliveryList({ address }: { address: Address }) {
  const { chosen: status, page, choose, go } = usePaged<keyof typeof STATES>(address, 'status', '');
  const loaded = useLoaded<'listDeliveries'>(`/v1/webhooks/deliveries${query({ status, page })}`);
  const { notice, done } = useNotice(loaded);
  const moment = useMoment();

  return (
    <section class="card stack">
      <div class="row">
        <Choice value={status} names={STATES} choose={choose} />
      </div>
      <RealTimes />
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
                    <a href={to('webhooks', deliveryId)}>{webhookType}</a>
                  ),
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
