import type { AnswerTimeout } from '../../src/activities/answer-timeout';
import { createBillingRequestActivities } from '../../src/activities/billing-request';
import { endedOf, type AwaitedCharge } from '../../src/database/billing-request/read-billing-request';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { databaseOfFile } from '../support/database';
import { signalsTo } from '../support/outbox';
import { moveClock, standingApproval, type Standing } from '../support/standing';
import { billBy, answerBill } from '../support/settled';

const { db } = databaseOfFile();

/** @param whileWaiting what happens while the activity waits */
function activities(whileWaiting: (charges: { id: string }[]) => Promise<void> = async () => undefined) {
  const answerTimeout: AnswerTimeout<AwaitedCharge> = {
    async waitForAnswers(charges) {
      await whileWaiting(charges);
      return endedOf(
        db,
        charges.map(({ id }) => id),
      );
    },
    stop: () => undefined,
  };
  return createBillingRequestActivities(db, answerTimeout);
}

async function charge(standing: Standing, by: 'agreement' | 'lookupID'): Promise<string> {
  const [billed] = await billBy(db, standing, [by]);
  return billed?.id ?? '';
}

const confirm = (standing: Standing, id: string) => answerBill(db, standing, id, `tx-${id}`);

test('a workflow that was started without its charges finds those that are open, and closes them in time', async () => {
  const standing = await standingApproval(db, {});
  const id = await charge(standing, 'lookupID');
  const workflowId = workflowIds.billingRequest(id);
  expect(await activities().awaitAnswer([], workflowId)).toMatchObject({ open: [id], ended: [] });
  expect(await activities().closeWindow([id])).toMatchObject({ open: [id], ended: [] });
  await moveClock(db, standing.merchantId, '16 minutes');
  const ended = [{ billingRequestId: id, status: 'declined', declineReason: 'not_delivered' }];
  expect(await activities().closeWindow([id])).toMatchObject({ open: [], ended, closes: null });
  expect(await activities().awaitAnswer([], workflowId)).toMatchObject({ open: [], ended: [] });
});

describe('an answer', () => {
  let standing: Standing;
  beforeAll(async () => {
    standing = await standingApproval(db, {});
  });

  test('that comes while it is waited for is seen, and signals nobody', async () => {
    const id = await charge(standing, 'agreement');
    const workflowId = workflowIds.billingRequest(id);
    const answers = await activities(async ([open]) => {
      expect(open?.id).toBe(id);
      await confirm(standing, id);
    }).awaitAnswer([id], workflowId);
    expect(answers).toMatchObject({ open: [], ended: [{ billingRequestId: id, status: 'successful' }] });
    expect(await signalsTo(db, workflowId)).toEqual([]);
  });

  test('that comes after patience has ended signals the workflow, once', async () => {
    const id = await charge(standing, 'agreement');
    const workflowId = workflowIds.billingRequest(id);
    expect(await activities().awaitAnswer([id], workflowId)).toMatchObject({ open: [id] });
    await confirm(standing, id);
    await confirm(standing, id);
    expect(await signalsTo(db, workflowId)).toHaveLength(1);
  });

  test('that comes before the workflow has begun is found by it', async () => {
    const id = await charge(standing, 'agreement');
    const workflowId = workflowIds.billingRequest(id);
    await confirm(standing, id);
    expect(await signalsTo(db, workflowId)).toEqual([]);
    const { ended } = await activities().awaitAnswer([id], workflowId);
    expect(ended).toMatchObject([{ billingRequestId: id, status: 'successful' }]);
  });

  test('of a customer who is asked is not waited for', async () => {
    const id = await charge(standing, 'lookupID');
    const workflowId = workflowIds.billingRequest(id);
    const waited: { id: string }[] = [];
    await activities(async (charges) => void waited.push(...charges)).awaitAnswer([id], workflowId);
    expect(waited).toEqual([]);
    await confirm(standing, id);
    expect(await signalsTo(db, workflowId)).toHaveLength(1);
  });

  test('in a bank’s own words is not in the history, where it cannot be erased', async () => {
    const id = await charge(standing, 'agreement');
    const workflowId = workflowIds.billingRequest(id);
    await answerBill(db, standing, id, null, 'Ada Obi has died');
    const { ended } = await activities().awaitAnswer([id], workflowId);
    expect(ended).toMatchObject([{ status: 'declined', declineReason: 'other' }]);
  });
});
