import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../../../src/api/http/json';
import { newReference } from '../../../src/database/identifier/new-id';
import {
  answersOnce,
  charge,
  isApproval,
  MONEY,
  POLL_MS,
  took,
  type Check,
  type Judge,
  type Kit,
} from './checks';
import { LIMITS, MERCHANT, type Act, type CustomerAct } from './permission';

/* Tests of a bank's app. A customer, or a program in their place, does there what each asks for. */

const MONTHLY = 20_000;

export const APP_CHECKS: readonly Check[] = [
  {
    name: 'limit',
    title: 'lowers the limit of a month, and leaves the others',
    async play(kit) {
      const words = `let ${MERCHANT.name} charge at most NGN ${MONTHLY} a month; change nothing else`;
      const { acts, judge } = await done(kit, { do: 'limit', words }, 'decide');
      const { limits } = kit.network.permission;
      return () =>
        judge() ??
        decided(acts, 'approve_recurring') ??
        (canonicalJson(limits) === canonicalJson({ ...LIMITS, monthly: MONTHLY })
          ? undefined
          : `the limits are now ${JSON.stringify(limits)}: a daily or monthly that is left out ends, so send both`);
    },
  },
  {
    name: 'pause',
    title: 'pauses, and resumes',
    async play(kit) {
      const pause = await done(kit, { do: 'pause', words: `pause ${MERCHANT.name}` }, 'pause');
      const resume = await done(kit, { do: 'resume', words: `resume ${MERCHANT.name}` }, 'resume');
      return () => pause.judge() ?? resume.judge();
    },
  },
  {
    name: 'skip',
    title: 'skips the billing that it was told of',
    async play(kit) {
      const { n } = kit.network.permission.next;
      const taken = took(await kit.sender.send(upcoming(kit)));
      const words = `skip the next charge of ${MERCHANT.name}`;
      const { acts, judge } = await done(kit, { do: 'skip', words }, 'skip');
      return () =>
        taken() ??
        judge() ??
        (acts.every(({ body }) => body['n'] === n)
          ? undefined
          : `it skipped billing ${String(acts[0]?.body['n'])}, and was told of ${n}`);
    },
  },
  {
    name: 'revoke',
    title: 'revokes until the network has taken it, and denies what is pending then',
    async play(kit) {
      const { network } = kit;
      // The bank has been asked for it, and the webhook is on its way.
      const asked = charge(kit, 'as usual');
      network.permission.pending = [
        { billingRequestId: asked.id, reference: newReference(), amount: MONEY.amount },
      ];
      network.permission.away = 1;
      const act = { do: 'revoke', words: `refuse ${MERCHANT.name} all charges from now on` } as const;
      const { acts, judge } = await done(kit, act, 'decide', 2);
      const isDenied = network.permission.isDenied;
      const answered = isDenied ? await answersOnce(kit, asked) : () => undefined;
      return () =>
        judge() ??
        decided(acts, 'deny') ??
        (isDenied ? undefined : 'it gave up after a 503: charges go on. Repeat the call until it is taken') ??
        answered() ??
        (network.answersTo(asked.id).some(isApproval)
          ? 'it debited a charge of `pending`, which came with the answer to its `deny`: deny those not yet booked'
          : undefined);
    },
  },
];

const CALLS: Record<Act['call'], string> = {
  decide: 'PUT /v1/bank/customer-decisions/:id',
  pause: 'POST …/customer-decisions/:id/pause',
  resume: 'POST …/customer-decisions/:id/resume',
  skip: 'POST …/subscriptions/:scheduleId/skip',
  unskip: 'POST …/subscriptions/:scheduleId/unskip',
};

/** Waits until the app has made the calls, at most the bank's answer timeout. */
async function done(
  { network, tell, answerTimeoutMs }: Kit,
  act: CustomerAct,
  call: Act['call'],
  calls = 1,
): Promise<{ acts: Act[]; judge: Judge }> {
  const { acts } = network.permission;
  const before = acts.length;
  tell(act);
  const deadline = Date.now() + answerTimeoutMs;
  while (acts.length < before + calls && Date.now() < deadline) await sleep(POLL_MS);
  const own = acts.slice(before);
  return {
    acts: own,
    judge: () => {
      const other = own.find((one) => one.call !== call);
      if (other) return `it called ${CALLS[other.call]}: this is ${CALLS[call]}`;
      const wrong = own.flatMap(({ problems }) => problems);
      if (wrong.length > 0) return `its call is not one: ${wrong.join('; ')}`;
      return own.length === 0 ? `no call came: this is ${CALLS[call]}` : undefined;
    },
  };
}

function decided(acts: readonly Act[], decision: string): string | undefined {
  const other = acts.find(({ body }) => body['customerDecision'] !== decision);
  return other && `it decided ${String(other.body['customerDecision'])}: this is ${decision}`;
}

function upcoming({ sender, network, customer }: Kit) {
  return sender.webhook('recurring.upcoming', {
    ...network.permission.next,
    sequence: 1,
    customerId: customer.customerId,
    description: 'Conformance',
    currency: MONEY.currency,
    withinLimits: true,
  });
}
