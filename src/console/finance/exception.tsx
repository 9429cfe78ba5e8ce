import { useRef, useState } from 'preact/hooks';
import type { ReconciliationExceptionWithEvents } from '../../../packages/client/src/api.generated';
import { money } from '../parts/money';
import { kindInWords } from '../parts/payment-words';
import { Timeline } from '../parts/timeline';
import { Alert } from './alert';
import { Badge } from './badge';
import { to } from './address';
import { act } from './api';
import { useMoment, useSession } from './context';
import { Facts, Id } from './facts';
import { inWords, Show, useLoaded } from './loaded';
import { RecordLink } from './record-link';
import { answerInWords, exceptionEventInWords, resolutionInWords } from './words';

export function ExceptionShown({ id }: { id: string }) {
  const loaded = useLoaded<'getException'>(`/v1/reconciliation/exceptions/${encodeURIComponent(id)}`);
  const [notice, setNotice] = useState<string>();
  return (
    <>
      <p>
        <a href={to('exceptions')}>All exceptions</a>
      </p>
      <div role="status">{notice !== undefined && <p class="notice">{notice}</p>}</div>
      <Show loaded={loaded} what="The exception">
        {(exception) => (
          <>
            <Found exception={exception} />
            <Answer
              to={exception}
              done={(message) => {
                setNotice(message);
                loaded.reload();
              }}
            />
          </>
        )}
      </Show>
    </>
  );
}

/** The same on the page of its payment. */
export function ExceptionOfPayment({ id, done }: { id: string; done: (message: string) => void }) {
  const loaded = useLoaded<'getException'>(`/v1/reconciliation/exceptions/${id}`);
  return (
    <Show loaded={loaded} what="The exception">
      {(exception) => (
        <>
          <Found exception={exception} besidePayment />
          <Answer to={exception} done={done} />
        </>
      )}
    </Show>
  );
}

function Found({
  exception: one,
  besidePayment = false,
}: {
  exception: ReconciliationExceptionWithEvents;
  /** Which tells the rest of the story. */
  besidePayment?: boolean;
}) {
  const moment = useMoment();
  return (
    <section class="card stack">
      <h2>{kindInWords(one.kind)}</h2>
      <Facts
        of={[
          [
            'State',
            <>
              <Badge of={one.state} />
              {one.resolution && ` ${resolutionInWords(one.resolution)}`}
            </>,
          ],
          ['Amount', money(one, one.currency)],
          ['Opened', moment(one.openedAt)],
          one.resolvedAt !== null && ['Resolved', moment(one.resolvedAt)],
          one.reference !== null &&
            !besidePayment && [
              one.refundId === null ? 'Charge' : 'Refund',
              <RecordLink of={one.reference} />,
            ],
          one.bankTransactionId !== undefined &&
            one.bankTransactionId !== null && ['Bank’s transaction', <Id of={one.bankTransactionId} />],
          one.note !== null && ['Note', one.note],
          !besidePayment && ['Id', <Id of={one.exceptionId} />],
        ]}
      />
      {one.answers.length > 0 && (
        <>
          <h3>What the bank answered</h3>
          <Timeline
            moment={moment}
            of={one.answers.map(({ at, says, bankTransactionId }) => ({
              at,
              what: 'bank',
              text: `${answerInWords(says)}${bankTransactionId ? `, by its transaction ${bankTransactionId}` : ''}`,
            }))}
          />
        </>
      )}
      {!besidePayment && (
        <>
          <h3>What has happened</h3>
          <Timeline
            moment={moment}
            of={one.events.map(({ type, at, cause }) => ({
              at,
              what: cause,
              text: exceptionEventInWords(type),
            }))}
          />
        </>
      )}
    </section>
  );
}

type Said = 'no_money_moved' | 'reversed' | 'confirmed';

interface Choice {
  said: Said;
  name: string;
  means: string;
}

/** Says what an answer does to a charge or refund whose money did not stay. */
function consequence({ refundId, answers }: ReconciliationExceptionWithEvents): string {
  if (refundId !== null) return 'A completed refund is returned, unless this is about a second transfer.';
  const isSecondDebit = answers.length > 1 && answers.every(({ says }) => says === 'approved');
  return isSecondDebit
    ? 'This is about the second debit: the charge stands.'
    : 'A charge that stands as successful is reversed.';
}

const choicesFor = (exception: ReconciliationExceptionWithEvents): Choice[] => [
  {
    said: 'no_money_moved',
    name: 'No money moved',
    means: `None of it moved. ${consequence(exception)}`,
  },
  {
    said: 'reversed',
    name: 'The money moved, and we have taken it back',
    means: `Name the transaction that did so. ${consequence(exception)}`,
  },
  {
    said: 'confirmed',
    name: 'Our first answer stands',
    means: 'Nothing is changed. Also where a second debit was reversed, and that one alone.',
  },
];

/** A first answer can stand for a charge with two answers, or for a refund completed first. */
function canBeConfirmed({ refundId, answers, events }: ReconciliationExceptionWithEvents): boolean {
  if (refundId !== null) return answers[0]?.says === 'completed';
  return events.some(({ kind }) => kind === 'conflicting_answer');
}

function Answer({
  to: exception,
  done,
}: {
  to: ReconciliationExceptionWithEvents;
  done: (message: string) => void;
}) {
  const { entityId } = useSession();
  const [said, setSaid] = useState<Said>();
  const [bankTransactionId, setBankTransactionId] = useState('');
  const [note, setNote] = useState('');
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const question = useRef<HTMLDialogElement>(null);
  if (exception.state === 'resolved') return null;
  if (exception.bankId !== entityId) {
    return (
      <p class="card quiet">The payer’s bank, or the network’s operator, says what became of the money.</p>
    );
  }
  const choices = choicesFor(exception).filter(
    (one) => one.said !== 'confirmed' || canBeConfirmed(exception),
  );
  const chosen = choices.find((one) => one.said === said);

  async function send(): Promise<void> {
    question.current?.close();
    setBusy(true);
    setError(undefined);
    try {
      await act(`/v1/reconciliation/exceptions/${exception.exceptionId}/respond`, {
        resolution: said,
        ...(said === 'reversed' && { bankTransactionId }),
        ...(note !== '' && { note }),
      });
      done(`It is resolved: ${chosen?.name ?? ''}.`);
    } catch (refused) {
      setError(inWords(refused));
    } finally {
      setBusy(false);
    }
  }

  return (
    <section class="card stack">
      <h2>What became of the money?</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          question.current?.showModal();
        }}
      >
        <fieldset>
          <legend class="quiet small">Your answer resolves the exception</legend>
          {choices.map((one) => (
            <label class="choice" key={one.said}>
              <input
                type="radio"
                name="resolution"
                required
                checked={one.said === said}
                onChange={() => setSaid(one.said)}
              />
              <span>
                {one.name}
                <span class="quiet small"> {one.means}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {said === 'reversed' && (
          <label>
            Your transaction that took it back
            <input
              required
              value={bankTransactionId}
              onInput={(event) => setBankTransactionId(event.currentTarget.value)}
            />
          </label>
        )}
        <label>
          Note for yourselves, without personal data
          <input maxLength={500} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
        {error !== undefined && <Alert>{error}</Alert>}
        <div>
          <button class="first" type="submit" disabled={busy}>
            {busy ? 'Answering …' : 'Answer …'}
          </button>
        </div>
      </form>
      <dialog ref={question} aria-label="Is that so?">
        <div class="stack">
          <h2>Is that so?</h2>
          <p>
            {money(exception, exception.currency)}: <strong>{chosen?.name}</strong>
            {said === 'reversed' && ` by ${bankTransactionId}`}. {chosen?.means}
          </p>
          <p>It is final, and both sides are told.</p>
          <div class="row">
            <button class="first" type="button" onClick={() => void send()}>
              Yes, resolve it
            </button>
            <button type="button" onClick={() => question.current?.close()}>
              No, go back
            </button>
          </div>
        </div>
      </dialog>
    </section>
  );
}
