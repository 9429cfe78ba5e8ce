import { AssentClient, AssentError, type AnswerOf } from '@assent/client';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { readStatements } from './books';
import { CUSTOMERS } from './customers';
import { inNaira, kobo } from '../../test/parties/kobo';
import { holds, type Narrator } from './narrator';
import type { Identity, Operator } from '../../test/parties/operator';
import type { PartyProcess } from '../../test/parties/process';
import { expectDeclined, expectPaid, hearsOf, openServers, WEBHOOK_WITHIN_MS, type Servers } from './shop';

export interface Stage {
  apiUrl: string;
  operator: Operator;
  narrator: Narrator;
  /** Takes every process that the story starts, to stop it however the story ends. */
  own: (party: PartyProcess) => void;
}

/**
 * A bank, a provider and a merchant live through a quarter of a year on the real engine.
 *
 * @throws Error where the engine does not keep what it promises; StoryError where the story can say
 *   what
 */
export async function tellStory(stage: Stage): Promise<void> {
  const entities = await makeEntities(stage);
  const scene: Scene = { ...stage, ...entities, ...(await tellOfServers(stage, entities)) };
  const lookupID = await onboard(scene);
  const agreement = await agree(scene, lookupID);
  await billOnce(scene, lookupID);
  await changeTerms(scene, lookupID, agreement.paymentID);
  await runSchedule(scene, agreement);
  await reconcile(scene);
}

interface Entities {
  bank: Identity;
  provider: Identity;
  merchant: Identity;
}

type Scene = Stage & Entities & Servers;

interface Agreement {
  customerId: string;
  paymentID: string;
}

async function makeEntities({ narrator, operator, apiUrl }: Stage): Promise<Entities> {
  const entities = await narrator.tell(
    'The operator makes a bank, a provider and its merchant',
    async (say) => {
      const provider = await operator.createEntity('provider', 'Northwind Payments');
      const [bank, merchant] = await Promise.all([
        operator.createEntity('bank', 'Harbour Bank'),
        operator.createEntity('merchant', 'Palm Grocers', [
          `--provider=${provider.entityId}`,
          '--email=billing@palm-grocers.example',
          '--website=https://palm-grocers.example',
        ]),
      ]);
      say(`bank     ${bank.entityId}`);
      say(`provider ${provider.entityId}`);
      say(`merchant ${merchant.entityId}`);
      return { bank, provider, merchant };
    },
  );
  await narrator.tell('The provider trusts the merchant', async (say) => {
    const providerApi = new AssentClient({ baseUrl: apiUrl, ...entities.provider });
    const { data } = await providerApi.call('setMerchantTrust', {
      body: { merchantId: entities.merchant.entityId, trustLevel: 'trusted' },
    });
    holds(data.trustLevel === 'trusted', `the merchant is ${data.trustLevel}`);
    say('customers may now give it a standing approval');
  });
  return entities;
}

async function tellOfServers(
  { narrator, apiUrl, own }: Stage,
  { bank, merchant }: Entities,
): Promise<Servers> {
  return narrator.tell('Bank and merchant open a server each, and tell the network where', async (say) => {
    const servers = await openServers(apiUrl, bank, merchant, own);
    say(`bank     ${servers.atBank.webhookUrl}`);
    say(`merchant ${servers.shop.hears.webhookUrl}`);
    return servers;
  });
}

async function onboard({ narrator, bank, bankApi, shop }: Scene): Promise<string> {
  await narrator.tell('The bank brings its 25 customers into the network', async (say) => {
    const { data } = await bankApi.call('onboardCustomers', { body: { customers: CUSTOMERS } });
    const { total, successful } = data.summary;
    holds(total === 25 && successful === 25, `${successful} of ${total} were taken`);
    say(`${data.batchId}: ${successful} of ${total} taken`);
  });
  return narrator.tell('The merchant finds one of them by e-mail', async (say) => {
    const email = 'ngozi.umeh@example.com';
    const { data } = await shop.api.call('findBanks', { query: { email } });
    // Earlier runs on the same engine have left banks of their own that know her too.
    const found = data.banks.find(({ bankId }) => bankId === bank.entityId);
    holds(found !== undefined, `no bank of ${email} is ${bank.entityId}`);
    say(`${email} is "${found.lookupID}" at ${found.bankName}`);
    return found.lookupID;
  });
}

async function agree(scene: Scene, lookupID: string): Promise<Agreement> {
  const { narrator, shop } = scene;
  const agreement = await narrator.tell(
    'The merchant asks to bill her, and she agrees at her bank',
    async (say) => {
      const { intentId, ...agreed } = await approvedIntent(scene, lookupID, 'Weekly groceries', 10_000);
      say(`${intentId} approved, NGN 10,000 a day at most`, workflowIds.intent(intentId));
      say(`paymentID ${agreed.paymentID}`);
      return agreed;
    },
  );
  await narrator.tell('It bills with the paymentID', async (say) => {
    const charge = await shop.charge({ paymentIDs: [agreement.paymentID] }, 4_500, 'Rice and beans');
    await expectPaid(shop, charge);
    say(`${charge.reference}: NGN 4,500.00 paid`, workflowIds.billingRequest(charge.billingRequestId));
  });
  await narrator.tell('A bill above her limit is refused, and the bank is not bothered', async (say) => {
    const feast = { amount: 15_000, currency: 'NGN', description: 'A feast' };
    const refusal = await shop.api
      .call('billCustomers', { body: { paymentIDs: [agreement.paymentID], ...feast } })
      .catch((error: unknown) => error);
    holds(refusal instanceof AssentError && refusal.status === 403, `not a 403: ${String(refusal)}`);
    say(refusal.message);
  });
  return agreement;
}

async function billOnce({ narrator, atBank, shop }: Scene, lookupID: string): Promise<void> {
  await narrator.tell('A one-time bill by lookupID: she is asked, and approves', async (say) => {
    const charge = await shop.charge({ lookupIDs: [lookupID] }, 1_250.5, 'Olive oil');
    await expectPaid(shop, charge);
    say(`${charge.reference}: NGN 1,250.50 paid`, workflowIds.billingRequest(charge.billingRequestId));
  });
  await narrator.tell('Another: her account does not hold enough', async (say) => {
    const description = 'A new stove';
    await atBank.rule({ on: 'billing.request', description, answer: 'insufficient_funds' });
    const charge = await shop.charge({ lookupIDs: [lookupID] }, 89_999.99, description);
    await expectDeclined(shop, charge, 'insufficient_funds');
    say(
      `${charge.reference}: declined, insufficient_funds`,
      workflowIds.billingRequest(charge.billingRequestId),
    );
  });
  await narrator.tell(
    'A third: she does not answer, and the window passes on the test clock',
    async (say) => {
      const description = 'Ripe plantain';
      await atBank.rule({ on: 'billing.request', description, answer: 'silence' });
      const charge = await shop.charge({ lookupIDs: [lookupID] }, 800, description);
      await hearsOf(atBank, 'billing.request', charge.billingRequestId);
      await shop.advanceClock('PT20M');
      await expectDeclined(shop, charge, 'expired');
      await hearsOf(atBank, 'billing.closed', charge.billingRequestId);
      say(
        `${charge.reference}: expired, and the bank knows it too`,
        workflowIds.billingRequest(charge.billingRequestId),
      );
    },
  );
}

async function changeTerms(scene: Scene, lookupID: string, paymentID: string): Promise<void> {
  const { narrator, shop } = scene;
  await narrator.tell('A second intent brings new terms to the same agreement', async (say) => {
    const agreed = await approvedIntent(scene, lookupID, 'Groceries and feasts', 25_000);
    holds(agreed.paymentID === paymentID, 'the new terms came with another paymentID');
    say(
      `${agreed.intentId} approved, NGN 25,000 a day now, same paymentID`,
      workflowIds.intent(agreed.intentId),
    );
    const charge = await shop.charge({ paymentIDs: [paymentID] }, 15_000, 'A feast');
    await expectPaid(shop, charge);
    say(
      `${charge.reference}: NGN 15,000.00 paid, refused before`,
      workflowIds.billingRequest(charge.billingRequestId),
    );
  });
}

async function runSchedule({ narrator, shop }: Scene, { customerId, paymentID }: Agreement): Promise<void> {
  await narrator.tell('A monthly schedule of three billings, watched on the test clock', async (say) => {
    const created = await shop.api.call('createSchedule', {
      body: {
        customerId,
        paymentID,
        amount: 2_999.99,
        currency: 'NGN',
        frequency: 'monthly',
        maxBillings: 3,
        description: 'Vegetable box',
      },
    });
    const { scheduleId } = created.data;
    say(`${scheduleId}: NGN 2,999.99 a month`, workflowIds.recurring(scheduleId));

    const now = await shop.advanceClock('P3M');
    await shop.hears.waitFor(
      `the completion of ${scheduleId}`,
      ({ type, item }) =>
        type === 'recurring.updated' && item['scheduleId'] === scheduleId && item['status'] === 'completed',
      WEBHOOK_WITHIN_MS,
    );
    const { data: schedule } = await shop.api.call('getSchedule', { path: { scheduleId } });
    const { billings } = schedule;
    for (const { n, dueDate, status } of billings) say(`billing ${n + 1} of 3, due ${dueDate}: ${status}`);
    holds(
      billings.length === 3 && billings.every(({ status }) => status === 'successful'),
      'it did not run to its end',
    );
    const charged = (await shop.hears.received()).filter(({ item }) => item['scheduleId'] === scheduleId);
    const paid = charged.filter(
      ({ type, item }) => type === 'billing.response' && item['status'] === 'successful',
    );
    holds(paid.length === 3, `the merchant heard of ${paid.length} of its three charges`);
    say(`${schedule.status}; for this merchant it is ${now}`);
  });
}

type History = AnswerOf<'listTransactions'>['data']['transactions'];

async function reconcile({ narrator, bank, merchant, bankApi, atBank, shop }: Scene): Promise<void> {
  await narrator.tell("The history adds up with the bank's own ledger, to the kobo", async (say) => {
    const history = await historyOf(shop.api);
    holds(
      asText(history) === asText(await historyOf(bankApi)),
      'merchant and bank are shown different histories',
    );
    const paid = history.filter(({ status }) => status === 'successful');
    const declined = history.filter(({ status }) => status === 'declined');
    holds(history.length === 8, `there are ${history.length} transactions where 8 were made`);
    const reasons = declined.map(({ declineReason }) => String(declineReason)).sort();
    holds(reasons.join() === 'expired,insufficient_funds', `declined were: ${reasons.join(', ')}`);

    const charges = paid.map(({ reference, amount }) => `${reference} ${kobo(amount)} debited`);
    const debits = (await atBank.ledger()).map((one) => `${one.reference} ${one.amount} ${one.state}`);
    holds(
      charges.sort().join('\n') === debits.sort().join('\n'),
      `paid, by the network:\n${charges.join('\n')}\nand by the bank:\n${debits.join('\n')}`,
    );
    const total = paid.reduce((sum, { amount }) => sum + kobo(amount), 0n);
    const due = kobo(4_500) + kobo(1_250.5) + kobo(15_000) + 3n * kobo(2_999.99);
    holds(total === due, `${inNaira(total)} were paid in place of ${inNaira(due)}`);
    say(
      `${paid.length} paid, ${declined.length} declined; ${inNaira(total)} debited, each charge exactly once`,
    );
  });
  await narrator.tell('The statements of merchant and bank add up, day by day, to nothing', async (say) => {
    const settled = (await historyOf(shop.api)).flatMap(({ settledAt }) => settledAt ?? []);
    const ofMerchant = await readStatements(shop.api, 'merchant', bank.entityId, settled, (line) =>
      say(`merchant ${line}`),
    );
    const ofBank = await readStatements(bankApi, 'bank', merchant.entityId, settled, (line) =>
      say(`bank     ${line}`),
    );
    holds(ofMerchant + ofBank === 0n, `${inNaira(ofMerchant)} and ${inNaira(ofBank)} are not nothing`);
    const due = kobo(4_500) + kobo(1_250.5) + kobo(15_000) + 3n * kobo(2_999.99);
    holds(ofMerchant === due, `the merchant is owed ${inNaira(ofMerchant)} in place of ${inNaira(due)}`);
  });
  await narrator.tell('No webhook was forged, and the network took every answer of the bank', async (say) => {
    const attempts = [...(await atBank.attempts()), ...(await shop.hears.attempts())];
    const forged = attempts.filter(({ outcome }) => outcome === 'forged');
    holds(forged.length === 0, `forged: ${JSON.stringify(forged)}`);
    const answers = await atBank.answers();
    const refused = answers.filter(({ status }) => status !== 200);
    holds(refused.length === 0, `refused: ${JSON.stringify(refused)}`);
    say(`${attempts.length} webhooks, ${answers.length} answers`);
  });
}

/** Lays out the customer's answer at the bank, and asks. */
async function approvedIntent(
  { atBank, shop }: Scene,
  lookupID: string,
  description: string,
  daily: number,
): Promise<Agreement & { intentId: string }> {
  await atBank.rule({
    on: 'billing.intent',
    description,
    answer: 'approve_recurring',
    spendingLimits: { daily, monthly: 100_000 },
  });
  const { intentId, response } = await shop.ask(lookupID, description);
  const { customerDecision, customerId, paymentID } = response;
  holds(customerDecision === 'approve_recurring', `the answer was ${JSON.stringify(response)}`);
  holds(typeof paymentID === 'string', 'the approval came without a paymentID');
  return { intentId, customerId: String(customerId), paymentID };
}

async function historyOf(client: AssentClient): Promise<History> {
  const history: History = [];
  for await (const transaction of client.each('listTransactions')) history.push(transaction);
  return history;
}

function asText(history: History): string {
  return history
    .map(({ reference, status, amount }) => `${reference} ${status} ${amount}`)
    .sort()
    .join('\n');
}
