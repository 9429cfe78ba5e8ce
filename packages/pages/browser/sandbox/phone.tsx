import { money } from '../parts/money';
import { momentIn } from '../parts/time';
import { nameOf } from './charged';
import { NO_LIMIT_WORDS, useLimits } from './limits';
import { Permissions } from './permissions';
import { Said, WorkflowLink } from './parts';
import { useAct } from './server';
import type { Prompt, SandboxState } from '../../../sandbox/src/state';

export function Phone({ state, isNext }: { state: SandboxState; isNext: boolean }) {
  const { prompts, bank } = state;
  return (
    <section class={`card stack phone ${isNext ? 'next' : ''}`} aria-labelledby="phone">
      <div>
        <h2 id="phone" tabIndex={-1}>
          The phone: {bank.name}
        </h2>
        <p class="quiet small">What the bank asks its customers.</p>
      </div>
      <div class="stack screen" role="log" aria-label="Questions on the phone">
        {prompts.length === 0 && (
          <p class="quiet">Nothing to answer. What the shop asks a customer comes here.</p>
        )}
        {prompts.map((prompt, n) => (
          <Question key={prompt.id} prompt={prompt} state={state} isNext={isNext && n === 0} />
        ))}
      </div>
      <Permissions state={state} />
    </section>
  );
}

function Question({ prompt, state, isNext }: { prompt: Prompt; state: SandboxState; isNext: boolean }) {
  const act = useAct();
  const { id, kind, from, amount, currency, asked } = prompt;
  const { limits, fields } = useLimits(
    {
      perCharge: String(asked?.limits.perCharge ?? ''),
      daily: String(asked?.limits.daily ?? '10000'),
      monthly: String(asked?.limits.monthly ?? '50000'),
    },
    (period) => `At most a ${period} (${currency})`,
  );
  const name = nameOf(state, prompt.customerId);
  const isClosed = prompt.state === 'closed';
  const answer = async (decision: string, more: object = {}) => {
    const isAnswered = await act.press('answer', { id, decision, ...more });
    const at = document.activeElement;
    // An answered question goes, and the focus with it: the next one is below the heading.
    if (isAnswered && decision !== 'leave' && (at === document.body || at?.closest('.phone'))) {
      document.getElementById('phone')?.focus({ preventScroll: true });
    }
  };

  const permit = () => (limits ? void answer('approve_recurring', { limits }) : act.refuse(NO_LIMIT_WORDS));
  const first = isNext ? 'first' : '';
  const button = (words: string, press: string | (() => void), look = '') => (
    <button
      type="button"
      class={look}
      disabled={act.isBusy}
      onClick={() => void (typeof press === 'string' ? answer(press) : press())}
    >
      {words}
    </button>
  );

  return (
    <article class={`question stack ${prompt.state}`} aria-label={`A question to ${name}`}>
      <div class="row apart">
        <strong>{name}</strong>
        <WorkflowLink url={state.workflowUrl} id={prompt.workflowId} of={`the question to ${name}`} />
      </div>
      {kind === 'charge' ? (
        <p>
          {from} wants <strong class="amount">{money(amount ?? 0, currency)}</strong> for “
          {prompt.description}”.
        </p>
      ) : (
        <p>
          {from} asks: may we charge you for “{prompt.description}”? <strong>{prompt.asked?.inWords}</strong>
        </p>
      )}
      <p class="small quiet">
        {isClosed
          ? 'The network has closed this: an answer comes too late now.'
          : `${prompt.state === 'left' ? 'Left lying. ' : ''}Answer by ${momentIn(state.timeZone, 'minute')(prompt.answerBy)}.`}
      </p>
      {kind === 'permission' && !isClosed && <div class="row fields">{fields}</div>}
      <div class="row">
        {isClosed ? (
          button('Approve, too late', 'approve_once')
        ) : kind === 'charge' ? (
          <>
            {button('Approve', 'approve_once', first)}
            {button('Approve, and every time', 'approve_recurring')}
          </>
        ) : (
          <>
            {button('Every time', permit, first)}
            {button('Ask me each time', 'approve_once')}
          </>
        )}
        {!isClosed && button('Refuse', 'deny')}
        {prompt.state === 'waiting' && button('Leave it', 'leave', 'plain')}
      </div>
      <Said outcome={act.outcome} />
    </article>
  );
}
