import { useState } from 'preact/hooks';
import { WorkflowLink } from './parts';
import type { Exchange, SandboxState } from '../../../sandbox/src/state';

/** More than a screen holds; a button shows older exchanges. */
const SHOWN_FIRST = 40;

export function Wire({ wire, state }: { wire: readonly Exchange[]; state: SandboxState }) {
  const [count, setCount] = useState(SHOWN_FIRST);
  const shown = wire.slice(-count).toReversed();
  return (
    <section class="card stack wire" aria-labelledby="wire">
      <div>
        <h2 id="wire">The wire</h2>
        <p class="quiet small">
          Each call and each webhook, newest first, as your own code would send and get them.
        </p>
      </div>
      {wire.length === 0 && (
        <p class="quiet small">
          Nothing was sent yet. Whatever you press in the shop or on the phone stands here at once.
        </p>
      )}
      <ol class="exchanges" reversed start={wire.at(-1)?.n ?? 1}>
        {shown.map((exchange) => (
          <li key={exchange.n}>
            <ExchangeItem exchange={exchange} state={state} />
          </li>
        ))}
      </ol>
      {wire.length > count && (
        <button type="button" class="plain" onClick={() => setCount(count + SHOWN_FIRST)}>
          Show older ones
        </button>
      )}
    </section>
  );
}

function ExchangeItem({ exchange, state }: { exchange: Exchange; state: SandboxState }) {
  const [isOpen, setOpen] = useState(false);
  const { kind, party, method, path, status, ms, signature, webhookType } = exchange;
  const who = party === 'shop' ? 'Shop' : 'Bank';
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class={`badge ${kind === 'call' ? '' : 'webhook'}`}>
          {kind === 'call' ? `${who} → network` : `network → ${who.toLowerCase()}`}
        </span>{' '}
        <span class="mono">{kind === 'call' ? `${method} ${path}` : (webhookType ?? 'not genuine')}</span>{' '}
        <span class="row meta">
          {signature && (
            <span class={`badge ${signature.verified ? 'good' : 'bad'}`}>
              {signature.verified ? 'signature verified' : 'not genuine'}
            </span>
          )}
          <span class={`badge ${statusTone(status)}`}>{statusWords(status)}</span>
          {kind === 'call' && ms !== null && <span class="small quiet number">{ms} ms</span>}
        </span>
      </summary>
      {isOpen && <Content exchange={exchange} state={state} />}
    </details>
  );
}

function statusTone(status: number | null): string {
  if (status === null) return 'wait';
  return status >= 200 && status < 300 ? 'good' : 'bad';
}

function statusWords(status: number | null): string {
  if (status === null) return 'waiting';
  return status === 0 ? 'no answer' : String(status);
}

function Content({ exchange, state }: { exchange: Exchange; state: SandboxState }) {
  const { kind, party, at, method, path, headers, body, answer, status, curl, signature } = exchange;
  const workflowId = workflowOf(exchange, state);
  return (
    <div class="stack content">
      {signature?.problem && <p class="notice bad small">{signature.problem}</p>}
      <div class="row apart">
        <p class="small quiet">
          Sent at {at.slice(11, 23)} UTC{kind === 'webhook' && `, to ${path}`}
        </p>
        {workflowId !== undefined && (
          <WorkflowLink url={state.workflowUrl} id={workflowId} of={`${method} ${path}`} />
        )}
      </div>
      <Block name="Headers" text={headers.map(([name, value]) => `${name}: ${value}`).join('\n')} />
      {body !== '' && <Block name="Body" text={body} />}
      <Block name={`Answer ${statusWords(status)}`} text={answer} />
      <Block name="The same by curl" text={curl} isCopied />
      {kind === 'call' && (
        <Block
          name="$TOKEN is made by"
          text={`TOKEN=$(npx assent token ${state[party].entityId})`}
          isCopied
        />
      )}
    </div>
  );
}

/**
 * Finds the workflow by the ids in the texts. A refund's texts hold its charge's id too, so refunds
 * go first. A webhook that is not genuine may name any id.
 */
function workflowOf(
  { path, body, answer, signature }: Exchange,
  { refunds, schedules, charges, intents }: SandboxState,
): string | undefined {
  if (signature?.verified === false) return undefined;
  const text = path + body + answer;
  return (
    refunds.find(({ refundId }) => text.includes(refundId)) ??
    schedules.find(({ scheduleId }) => text.includes(scheduleId)) ??
    charges.find(({ billingRequestId }) => text.includes(billingRequestId)) ??
    intents.find(({ intentId }) => text.includes(intentId))
  )?.workflowId;
}

function Block({ name, text, isCopied = false }: { name: string; text: string; isCopied?: boolean }) {
  const [said, setSaid] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser does not let it be copied: select it by hand.'),
    );
  if (text === '') return null;
  return (
    <div>
      <div class="row apart">
        <h3 class="small quiet">{name}</h3>
        {isCopied && (
          <span class="row">
            <span class="small" role="status">
              {said}
            </span>
            <button type="button" class="plain" onClick={() => void copy()}>
              Copy<span class="visually-hidden"> {name}</span>
            </button>
          </span>
        )}
      </div>
      <pre>{text}</pre>
    </div>
  );
}
