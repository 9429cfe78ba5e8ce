import { changeStatus } from '../../../src/database/entity-control/control-entity';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { claimUnattempted } from '../../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../../src/database/webhook/list-deliveries';
import { WEBHOOK_TYPES } from '../../../src/domain/webhook/webhook';
import { databaseOfFile } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { announcedInFeed } from '../../support/whole-feed';
import { lookupIdOf, moveClock, standingApproval } from '../../support/standing';
import { askIntents } from '../../support/settled';
import { setWebhookUrl } from '../../support/recorded-change';
import { answerIntent } from '../../../src/database/intent/answer-intent';
import { closeExpiredIntent } from '../../../src/database/intent/end-intents';

const { db } = databaseOfFile();

/** A bank with a URL, two customers of it, and a merchant. */
async function network() {
  const { bankId, customerId, merchantId } = await standingApproval(db, {});
  await setWebhookUrl(db, bankId, 'http://bank.test/');
  const { customers } = await db.transaction((trx) =>
    onboardBatch(trx, bankId, [
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

const ask = (here: Network, ...lookupIds: string[]) => askIntents(db, here, lookupIds);

const feedOf = (bankId: string) => announcedInFeed(db, bankId);

describe('an intent that ends before its bank was asked', () => {
  it('is asked for by nobody any more, not by hand either', async () => {
    const here = await network();
    const [intentId = ''] = await ask(here, here.first);
    const asked = await db.row<{
      id: string;
    }>`SELECT bank_delivery_id AS id FROM intents WHERE id = ${intentId}`;
    await moveClock(db, here.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredIntent(trx, intentId));
    await expect(db.transaction((trx) => redeliver(trx, here.bankId, asked?.id ?? ''))).rejects.toMatchObject(
      { code: 'delivery_withdrawn' },
    );
    expect(await feedOf(here.bankId)).toEqual([['billing.intent.closed', intentId, 1]]);
  });

  it('is announced also where the window of another one passes that the same webhook asks for', async () => {
    const here = await network();
    const [old = '', other = ''] = await ask(here, here.first, here.second);
    const [newer = ''] = await ask(here, here.first);
    await moveClock(db, here.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredIntent(trx, other));
    expect(await feedOf(here.bankId)).toEqual([
      ['billing.intent', old, 1],
      ['billing.intent.closed', old, 2],
      ['billing.intent', newer, 1],
      ['billing.intent.closed', other, 1],
    ]);
    const [sent] = await claimUnattempted(db, `intent/${old}`, 60_000, WEBHOOK_TYPES);
    expect(sent).toMatchObject({ webhookType: 'billing.intent', claimed: true });
  });
});

const statusOf = (id: string) => db.row`SELECT status, reason FROM intents WHERE id = ${id}`;

describe('an intent that a bank was asked before it was disabled', () => {
  it('stays open to the end of its window, and is declined then', async () => {
    const here = await network();
    const [id = ''] = await ask(here, here.first);
    await db.transaction((trx) => changeStatus(trx, OPERATOR, here.bankId, 'disabled'));
    await db.transaction((trx) => closeExpiredIntent(trx, id));
    expect(await statusOf(id)).toEqual({ status: 'pending', reason: null });
    await moveClock(db, here.merchantId, '2 days');
    await db.transaction((trx) => closeExpiredIntent(trx, id));
    expect(await statusOf(id)).toEqual({ status: 'declined', reason: 'expired' });
  });
});

it('an intent that is still open is not answered as declined, where the clock steps back meanwhile', async () => {
  const here = await network();
  const [intentId = ''] = await ask(here, here.first);
  const { customerId } = await db.oneRow<{ customerId: string }>`
    SELECT customer_id FROM intents WHERE id = ${intentId}`;
  await moveClock(db, here.merchantId, '25 hours');
  const answered = await db.transaction((trx) => {
    let hasStepped = false;
    async function row<Row>(texts: TemplateStringsArray, ...values: unknown[]) {
      const found = await trx.row<Row>(texts, ...values);
      if (!hasStepped) await moveClock(trx, here.merchantId, '-25 hours');
      hasStepped = true;
      return found;
    }
    return answerIntent({ ...trx, row }, here.bankId, {
      customerId,
      merchantId: here.merchantId,
      lookupId: here.first,
      customerDecision: 'approve_once',
      spendingLimits: undefined,
      blockMerchant: false,
    });
  });
  expect(answered).toMatchObject({ intentId, status: 'approved', agreed: true });
  expect(await statusOf(intentId)).toMatchObject({ status: 'approved' });
});
