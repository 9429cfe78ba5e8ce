import { billingRules, readConfig } from '../../src/settings/config';
import { row, type Database } from '../../src/database/pool/connection';
import { FEED_START, readFeed, type FeedEvent } from '../../src/database/webhook/read-event-feed';
import { changeStatus } from '../../src/database/entity-control/control-entity';
import { createIntents } from '../../src/database/intent/ask-intents';
import { closeExpiredIntent } from '../../src/database/intent/end-intents';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { onboardBatch } from '../../src/database/customer/migrate-customers';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { claimUnattempted, openDelivery } from '../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../src/database/webhook/list-deliveries';
import { setWebhookUrl } from '../../src/database/webhook/change-endpoint';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { OPERATOR } from '../support/operator';
import { lookupIdOf, moveClock, standingApproval } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = billingRules(readConfig({}));

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** A bank with a URL, two customers of it, and a merchant. */
async function network() {
  const { bankId, customerId, merchantId } = await standingApproval(db, keyring, {});
  await setWebhookUrl(db, bankId, 'http://bank.test/');
  const { customers } = await db.transaction((trx) =>
    onboardBatch(trx, keyring, bankId, [
      {
        person: {
          clientRef: 'c2',
          firstname: 'Bola',
          lastname: 'Ade',
          accountName: 'Bola Ade',
          email: 'bola@example.test',
          country: 'NG',
          accountNumber: '0123456788',
        },
      },
    ]),
  );
  return {
    bankId,
    merchantId,
    first: await lookupIdOf(db, customerId),
    second: await lookupIdOf(db, customers[0]?.customerId ?? ''),
  };
}
type Network = Awaited<ReturnType<typeof network>>;

/** @returns the ids of the intents, in the order asked */
async function ask({ merchantId }: Network, ...lookupIds: string[]): Promise<string[]> {
  const { intents } = await db.transaction((trx) =>
    createIntents(
      trx,
      keyring,
      rules,
      merchantId,
      {
        lookupIds: lookupIds.map((lookupId) => ({ phrase: lookupId, lookupId })),
        currency: 'NGN',
        description: 'Gold plan',
        dueDate: undefined,
      },
      (id) => `intent/${id}`,
    ),
  );
  return intents.map(({ id }) => id);
}

/** What the bank finds in its feed of intents: of which, and under which number. */
async function feedOf(bankId: string): Promise<[type: string, id: string, sequence: number][]> {
  const [last] = await db.transaction((trx) =>
    announce(trx, keyring, [{ entityId: bankId, webhookType: 'webhook.test', items: [{ sequence: 1 }] }]),
  );
  const shown = await row<{ eventId: string }>(
    db,
    `SELECT event_id AS "eventId" FROM webhook_deliveries WHERE id = :last`,
    { last },
  );
  let events: FeedEvent[] = [];
  await eventually(async () => {
    events = await readFeed(db, keyring, bankId, FEED_START, 100);
    return events.at(-1)?.eventId === shown?.eventId;
  });
  return events
    .filter(({ webhookType }) => webhookType.startsWith('billing.intent'))
    .flatMap(({ webhookType, data }) =>
      (data as { intentId: string; sequence: number }[]).map(
        ({ intentId, sequence }): [string, string, number] => [webhookType, intentId, sequence],
      ),
    );
}

describe('an intent that ends before its bank was asked', () => {
  it('is announced all the same where a newer one takes its place, however soon', async () => {
    const here = await network();
    const [old = ''] = await ask(here, here.first);
    const [newer = ''] = await ask(here, here.first);
    const [sent] = await claimUnattempted(db, `intent/${old}`, 60_000);
    expect(sent).toMatchObject({ webhookType: 'billing.intent', claimed: true });
    expect(await feedOf(here.bankId)).toEqual([
      ['billing.intent', old, 1],
      ['billing.intent.closed', old, 2],
      ['billing.intent', newer, 1],
    ]);
  });

  it('is asked for by nobody any more, not by hand either', async () => {
    const here = await network();
    const [intentId = ''] = await ask(here, here.first);
    const asked = await row<{ id: string }>(
      db,
      `SELECT bank_delivery_id AS id FROM intents WHERE id = :intentId`,
      { intentId },
    );
    await moveClock(db, here.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredIntent(trx, keyring, intentId));
    await expect(db.transaction((trx) => redeliver(trx, here.bankId, asked?.id ?? ''))).rejects.toMatchObject(
      { code: 'delivery_withdrawn' },
    );
    expect(await feedOf(here.bankId)).toEqual([['billing.intent.closed', intentId, 1]]);
  });

  it('stays in the webhook that asks for others, too', async () => {
    const here = await network();
    const [old = '', other = ''] = await ask(here, here.first, here.second);
    await ask(here, here.first);
    const [sent] = await claimUnattempted(db, `intent/${old}`, 60_000);
    if (!sent) throw new Error('there is nothing to send');
    const { data } = JSON.parse(openDelivery(keyring, sent).body) as { data: { intentId: string }[] };
    expect(data.map(({ intentId }) => intentId)).toEqual([old, other]);
  });

  it('is announced also where the window of another one passes that the same webhook asks for', async () => {
    const here = await network();
    const [old = '', other = ''] = await ask(here, here.first, here.second);
    const [newer = ''] = await ask(here, here.first);
    await moveClock(db, here.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredIntent(trx, keyring, other));
    expect(await feedOf(here.bankId)).toEqual([
      ['billing.intent', old, 1],
      ['billing.intent.closed', old, 2],
      ['billing.intent', newer, 1],
      ['billing.intent.closed', other, 1],
    ]);
  });
});

const statusOf = (id: string) => row(db, `SELECT status, reason FROM intents WHERE id = :id`, { id });

describe('an intent that a bank was asked before it was disabled', () => {
  it('stays open to the end of its window, and is declined then', async () => {
    const here = await network();
    const [id = ''] = await ask(here, here.first);
    await db.transaction((trx) => changeStatus(trx, keyring, OPERATOR, here.bankId, 'disabled'));
    await db.transaction((trx) => closeExpiredIntent(trx, keyring, id));
    expect(await statusOf(id)).toEqual({ status: 'pending', reason: null });
    await moveClock(db, here.merchantId, '2 days');
    await db.transaction((trx) => closeExpiredIntent(trx, keyring, id));
    expect(await statusOf(id)).toEqual({ status: 'declined', reason: 'expired' });
  });
});
