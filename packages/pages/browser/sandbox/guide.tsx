import type { SandboxState } from '../../../sandbox/src/state';

/** First steps. The page points at the first step that is not done. */
const GUIDE = ['charge', 'approve', 'permission', 'subscribe', 'clock'] as const;
export type GuideStep = (typeof GUIDE)[number];

const STEPS: Record<GuideStep, { name: string; words: string }> = {
  charge: { name: 'Charge a customer', words: 'Press “Charge once” in the shop.' },
  approve: { name: 'Approve on the phone', words: 'The customer’s phone has a question: press “Approve”.' },
  permission: {
    name: 'Ask for permission',
    words: 'Press “Ask for permission” in the shop, then “Every time” on the phone.',
  },
  subscribe: {
    name: 'Charge each month',
    words: 'Press “Charge each month” in the shop: the customer is not asked again.',
  },
  clock: { name: 'Let months pass', words: 'Move the clock by some months, and see each charge happen.' },
};

export function nextStep({ charges, customers, schedules, prompts }: SandboxState): GuideStep | undefined {
  const isPaid = charges.some(({ status }) => status === 'successful');
  const isAsked = prompts.some(({ kind, state }) => kind === 'charge' && state === 'waiting');
  const ofSchedule = charges.filter(
    ({ scheduleId, status }) => scheduleId !== null && status === 'successful',
  );
  const isDone: Record<GuideStep, boolean> = {
    charge: isPaid || isAsked,
    approve: isPaid,
    permission: customers.some(({ decision }) => decision === 'approve_recurring'),
    subscribe: schedules.length > 0,
    clock: ofSchedule.length > 1,
  };
  return GUIDE.find((step) => !isDone[step]);
}

export function Guide({ step }: { step: GuideStep | undefined }) {
  const at = step === undefined ? GUIDE.length : GUIDE.indexOf(step);
  return (
    <nav class="guide card row apart" aria-label="First steps">
      <ol class="steps row">
        {GUIDE.map((one, n) => (
          <li
            key={one}
            class={n < at ? 'done' : n === at ? 'now' : ''}
            aria-current={n === at ? 'step' : undefined}
          >
            <span class="mark" aria-hidden="true">
              {n < at ? '✓' : n + 1}
            </span>
            {STEPS[one].name}
            {n < at && <span class="visually-hidden"> (done)</span>}
          </li>
        ))}
      </ol>
      <p role="status">
        {step === undefined ? (
          <>
            That was the main road. Now <a href="/docs/quickstart">charge by the API</a>, or{' '}
            <a href="/docs/guides/testing">test what goes wrong</a>.
          </>
        ) : (
          STEPS[step].words
        )}
      </p>
    </nav>
  );
}
