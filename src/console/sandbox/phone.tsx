import { useState } from 'preact/hooks';
import { money } from '../parts/money';
import { momentIn } from '../parts/time';
import { Said, WorkflowLink } from './parts';
import { useAct } from './server';
import type { Prompt, SandboxState } from './state';

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
    </section>
  );
}

function Question({ prompt, state, isNext }: { prompt: Prompt; state: SandboxState; isNext: boolean }) {
  const act = useAct();
  const [daily, setDaily] = useState('10000');
  const [monthly, setMonthly] = useState('50000');
  const { id, kind, from, amount, currency } = prompt;
  const name =
    state.customers.find(({ customerId }) => customerId === prompt.customerId)?.name ?? 'A customer';
  const isClosed = prompt.state === 'closed';
  const answer = async (decision: string, more: object = {}) => {
    const isAnswered = await act.press('answer', { id, decision, ...more });
    const at = document.activeElement;
    // An answered question goes, and the focus with it: the next one is below the heading.
    if (isAnswered && decision !== 'leave' && (at === document.body || at?.closest('.phone'))) {
      document.getElementById('phone')?.focus({ preventScroll: true });
    }
  };

  const permit = () => {
    const limits: Record<string, number> = {};
    for (const [period, text] of Object.entries({ daily, monthly })) {
      if (text.trim() === '') continue;
      const value = Number(text.replaceAll(',', ''));
      if (!(value > 0)) return act.refuse('A limit is a number above nothing, or left empty for no limit.');
      limits[period] = value;
    }
    return void answer('approve_recurring', limits);
  };

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
          {from} asks: may we charge you for “{prompt.description}”?
        </p>
      )}
      <p class="small quiet">
        {isClosed
          ? 'The network has closed this: an answer comes too late now.'
          : `${prompt.state === 'left' ? 'Left lying. ' : ''}Answer by ${momentIn(state.timeZone, 'minute')(prompt.answerBy)}.`}
      </p>
      {kind === 'permission' && !isClosed && (
        <div class="row fields">
          <label>
            At most a day ({currency})
            <input
              inputMode="decimal"
              value={daily}
              onInput={({ currentTarget }) => setDaily(currentTarget.value)}
            />
          </label>
          <label>
            At most a month ({currency})
            <input
              inputMode="decimal"
              value={monthly}
              onInput={({ currentTarget }) => setMonthly(currentTarget.value)}
            />
          </label>
        </div>
      )}
      <div class="row">
        {isClosed ? (
          <button type="button" disabled={act.isBusy} onClick={() => void answer('approve_once')}>
            Approve, too late
          </button>
        ) : kind === 'charge' ? (
          <>
            <button
              type="button"
              class={isNext ? 'first' : ''}
              disabled={act.isBusy}
              onClick={() => void answer('approve_once')}
            >
              Approve
            </button>
            <button type="button" disabled={act.isBusy} onClick={() => void answer('approve_recurring')}>
              Approve, and every time
            </button>
          </>
        ) : (
          <>
            <button type="button" class={isNext ? 'first' : ''} disabled={act.isBusy} onClick={permit}>
              Every time
            </button>
            <button type="button" disabled={act.isBusy} onClick={() => void answer('approve_once')}>
              Ask me each time
            </button>
          </>
        )}
        {!isClosed && (
          <button type="button" disabled={act.isBusy} onClick={() => void answer('deny')}>
            Refuse
          </button>
        )}
        {prompt.state === 'waiting' && (
          <button type="button" class="plain" disabled={act.isBusy} onClick={() => void answer('leave')}>
            Leave it
          </button>
        )}
      </div>
      <Said outcome={act.outcome} />
    </article>
  );
}
