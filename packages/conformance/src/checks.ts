import { setTimeout as sleep } from 'node:timers/promises';
import type { SendOutcome } from '../../../src/database/webhook/attempt-delivery';
import { canonicalJson } from '../../../src/api/http/json';
import { newId, newReference } from '../../../src/database/identifier/new-id';
import { termsInWords } from '../../../src/domain/words/terms-in-words';
import { NO_LIMITS, shownLimits } from '../../../src/domain/spending-limit';
import type { CustomerAct } from './permission';
import { AT_ONCE_MS, type Delivery, type Sender } from './sender';
import type { Answer, Reception, StandIn } from './stand-in';

/*
 * Tests of a bank's integration. They are played in turn, and judged after the last has been
 * played: a bank that does something twice may take its time.
 */

export interface Kit {
  sender: Sender;
  network: StandIn;
  /** A customer that the bank knows; it may decline charges to others. */
  customer: { customerId: string; lookupID: string };
  /** Time for an answer that needs no person. */
  answerTimeoutMs: number;
  /** Has the customer do it in the bank's app. */
  tell: (act: CustomerAct) => void;
}

export interface Check {
  name: string;
  /** The bank's duty. */
  title: string;
  /** @returns the judge that says afterwards what was wrong */
  play: (kit: Kit) => Promise<Judge>;
}

/** @returns the problem and its remedy, or undefined */
export type Judge = () => string | undefined;

/** Older than the network or any receiver should tolerate. */
const OLD_S = 3_600;
/** A client that repeats an answer more often after a 409 would do so for ever. */
const MOST_REPEATS = 10;
export const POLL_MS = 20;

export const CHECKS: readonly Check[] = [
  {
    name: 'genuine',
    title: 'takes a genuine webhook, within two seconds',
    async play({ sender }) {
      const hello = sender.webhook('webhook.test', { sequence: 1, text: 'It works' });
      return took(await sender.send(hello, { withinMs: AT_ONCE_MS }));
    },
  },
  {
    name: 'unknown_type',
    title: 'takes a type that it does not know: new ones will be added',
    play: async ({ sender }) =>
      took(await sender.send(sender.webhook('billing.unheard_of', { sequence: 1 }))),
  },
  {
    name: 'bad_signature',
    title: 'refuses a webhook that is signed with another secret',
    play: (kit) => refuses(kit, { forged: true }, 'verify the signature over the exact bytes of the body'),
  },
  {
    name: 'old_timestamp',
    title: 'refuses a webhook that was sent an hour ago',
    play: (kit) =>
      refuses(
        kit,
        { agoS: OLD_S },
        'a recording can be played again: verify webhook-signature, with its time',
      ),
  },
  {
    name: 'intent',
    title: 'answers a billing.intent',
    play: (kit) => answersOnce(kit, intent(kit)),
  },
  {
    name: 'charge',
    title: 'answers a billing.request, to the network, in the form that it asks for',
    play: (kit) => answersOnce(kit, charge(kit, 'as usual')),
  },
  {
    name: 'repeat',
    title: 'debits once, however often the same webhook comes',
    async play(kit) {
      const asked = charge(kit, 'as usual');
      const first = await answersOnce(kit, asked);
      const { delivery } = asked;
      const again = [took(await kit.sender.send(delivery)), took(await kit.sender.send(delivery))];
      return () => first() ?? again.map((judge) => judge()).find(Boolean);
    },
  },
  {
    name: 'reminder',
    title: 'pays a refund once, though it is reminded of it',
    async play(kit) {
      const id = newId('refund');
      kit.network.receive(id, 'as usual');
      const first = await answersOnce(kit, { id, delivery: refund(kit, id, 1) });
      const second = took(await kit.sender.send(refund(kit, id, 2)));
      return () => first() ?? second();
    },
  },
  {
    name: 'late_answer',
    title: 'takes a 409 for an answer, and does not answer otherwise',
    async play(kit) {
      const asked = charge(kit, 'too late');
      const first = await answersOnce(kit, asked);
      await kit.sender.send(closed(kit, asked.id, 2));
      return () => first() ?? notInsisting(kit.network.answersTo(asked.id));
    },
  },
  {
    name: 'out_of_order',
    title: 'does not debit a charge whose end it has heard of first',
    async play(kit) {
      const { id, delivery } = charge(kit, 'too late');
      const taken = [took(await kit.sender.send(closed(kit, id, 2))), took(await kit.sender.send(delivery))];
      return () =>
        taken.map((judge) => judge()).find(Boolean) ??
        (kit.network.answersTo(id).some(isApproval)
          ? 'it was debited after it had ended: keep the highest sequence of each charge, and ignore what is below'
          : undefined);
    },
  },
  {
    name: 'slow_network',
    title: 'answers webhooks at once, also while the network answers slowly',
    async play(kit) {
      const { id, delivery } = charge(kit, 'slowly');
      const taken = took(await kit.sender.send(delivery, { withinMs: AT_ONCE_MS }));
      const hello = kit.sender.webhook('webhook.test', { sequence: 1, text: 'Still there?' });
      const meanwhile = took(await kit.sender.send(hello, { withinMs: AT_ONCE_MS }));
      await answered(kit, id);
      return () => taken() ?? meanwhile() ?? oneAnswer(kit, id);
    },
  },
  {
    name: 'outage',
    title: 'repeats the same answer after a 503 and after a lost connection, until it is taken',
    async play(kit) {
      const { id, delivery } = charge(kit, 'after an outage');
      const taken = took(await kit.sender.send(delivery));
      await answered(kit, id, 3);
      return () => taken() ?? (kit.network.answersTo(id).length < 3 ? gaveUp(kit, id) : oneAnswer(kit, id));
    },
  },
];

export function took({ httpStatus, error }: SendOutcome): Judge {
  const isTaken = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  return () =>
    isTaken
      ? undefined
      : `the webhook was not taken: ${error ?? 'no answer'}. Store it, answer 200, and work afterwards`;
}

interface Asked {
  id: string;
  delivery: Delivery;
}

export async function answersOnce(kit: Kit, { id, delivery }: Asked): Promise<Judge> {
  const taken = took(await kit.sender.send(delivery));
  await answered(kit, id);
  return () => taken() ?? oneAnswer(kit, id);
}

async function refuses(kit: Kit, how: { forged?: true; agoS?: number }, remedy: string): Promise<Judge> {
  const { id, delivery } = charge(kit, 'as usual');
  const { httpStatus } = await kit.sender.send(delivery, how);
  return () => {
    if (kit.network.answersTo(id).length > 0) return `it was acted on: ${remedy}`;
    const isRefused = httpStatus !== null && httpStatus >= 400 && httpStatus < 500;
    return isRefused ? undefined : `it was answered ${httpStatus ?? 'with nothing'} and not 401: ${remedy}`;
  };
}

/** Requires an answer that fits the contract, and no different answer beside it. */
function oneAnswer({ network }: Kit, id: string): string | undefined {
  const answers = network.answersTo(id);
  const [first] = answers;
  if (!first) return 'no answer came to the network';
  const wrong = answers.flatMap(({ problems }) => problems);
  if (wrong.length > 0) return `its answer is not one: ${wrong.join('; ')}`;
  const others = new Set(answers.map(({ body }) => canonicalJson(body)));
  return others.size === 1
    ? undefined
    : `it gave ${others.size} different answers: keep one booking for each charge or refund, under its id`;
}

function notInsisting(answers: readonly Answer[]): string | undefined {
  if (answers.length <= MOST_REPEATS) return undefined;
  return `it sent its answer ${answers.length} times: a 409 is final, give the money back`;
}

function gaveUp({ network }: Kit, id: string): string {
  const { length } = network.answersTo(id);
  if (length === 0) return 'no answer came to the network';
  const [after, lost] = ['it gave up after a 503', 'it gave up after the connection broke'];
  return `${length === 1 ? after : lost}: the money is debited, and the network does not know. Repeat the answer`;
}

export function isApproval({ body }: Answer): boolean {
  return body['bankTransactionId'] !== undefined;
}

/** Waits for the bank's answers, at most its answer timeout. */
async function answered({ network, answerTimeoutMs }: Kit, id: string, answers = 1): Promise<void> {
  const deadline = Date.now() + answerTimeoutMs;
  while (network.answersTo(id).length < answers && Date.now() < deadline) await sleep(POLL_MS);
}

function merchant(id = newId('merchant')) {
  return { id, name: 'Conformance Kit', icon: null, email: null, website: null };
}

function inMinutes(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}

/** The fields that intents and charges share. */
const question = (customer: Kit['customer'], merchantId?: string) => ({
  sequence: 1,
  ...customer,
  customerEmail: 'conformance@example.com',
  paymentID: 'A'.repeat(62),
  merchant: merchant(merchantId),
  description: 'Conformance',
  reference: newReference(),
  dueDate: inMinutes(60 * 24),
});

export const MONEY = { amount: 12.34, currency: 'NGN' };

function intent({ sender, network, customer }: Kit): Asked {
  const id = newId('merchant');
  const asked = { intentId: newId('intent'), spendingLimits: shownLimits(NO_LIMITS, MONEY.currency) };
  network.receive(id, 'as usual', asked);
  const delivery = sender.webhook('billing.intent', {
    ...question(customer, id),
    ...asked,
    currency: MONEY.currency,
    termsInWords: termsInWords(NO_LIMITS, MONEY.currency, 'UTC'),
  });
  return { id, delivery };
}

export function charge({ sender, network, customer }: Kit, reception: Reception): Asked {
  const id = newId('billingRequest');
  network.receive(id, reception);
  const delivery = sender.webhook('billing.request', {
    ...question(customer),
    billingRequestId: id,
    // A standing approval asks no person, so the bank can answer soon.
    approvalRequired: false,
    ...MONEY,
  });
  return { id, delivery };
}

function closed({ sender }: Kit, billingRequestId: string, sequence: number): Delivery {
  return sender.webhook('billing.closed', {
    billingRequestId,
    sequence,
    reference: newReference(),
    status: 'declined',
    declineReason: 'expired',
  });
}

function refund({ sender, customer }: Kit, refundId: string, sequence: number): Delivery {
  return sender.webhook('refund.request', {
    refundId,
    sequence,
    reference: newReference(),
    originalReference: newReference(),
    billingRequestId: newId('billingRequest'),
    bankTransactionId: 'conformance',
    ...MONEY,
    reason: null,
    ...customer,
    merchant: merchant(),
    expectedBy: inMinutes(60 * 72),
    overdue: sequence > 1,
  });
}
