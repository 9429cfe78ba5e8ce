import type { ReconciliationExceptionWithEvents } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { eventInWords, kindInWords } from '../parts/payment-words';
import { Timeline } from '../parts/timeline';
import { Act } from './act';
import { change } from './api';
import { useMay, useMoment, useSession } from './context';
import { Show, useLoaded, useNotice, type Done } from './loaded';
import { AllOf, Badge, Facts, Id, Ids, RecordLink } from './parts';
import { WaitsForSecond } from './waiting';
import { ANSWERS, bookedInWords, endedBy, resolutionInWords, type Resolution } from './words';

/** @param ofPayment told what was done, where it stands on the page of its payment */
export function ExceptionShown({ id, ofPayment }: { id: string; ofPayment?: Done }) {
  const loaded = useLoaded<'getException'>(`/v1/reconciliation/exceptions/${encodeURIComponent(id)}`);
  const { notice, done } = useNotice(loaded);
  const answered: Done = (said) => {
    done(said);
    ofPayment?.(said);
  };
  return (
    <>
      {!ofPayment && <AllOf page="exceptions" />}
      {!ofPayment && notice}
      <Show loaded={loaded} what="The exception">
        {(exception) => (
          <>
            {!ofPayment && <WaitsForSecond about={[id]} since={exception} />}
            <Found exception={exception} besidePayment={ofPayment !== undefined} />
            <Answer to={exception} done={answered} />
          </>
        )}
      </Show>
    </>
  );
}

function Found({
  exception: one,
  besidePayment,
}: {
  exception: ReconciliationExceptionWithEvents;
  /** Which tells the rest of the story. */
  besidePayment: boolean;
}) {
  const moment = useMoment();
  const booked = bookedInWords(one);
  const end = one.events.findLast(({ type }) => type === 'exception.resolved');
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
          booked !== undefined && ['Booked by the bank', booked],
          ['Opened', moment(one.openedAt)],
          one.resolvedAt !== null && [
            'Resolved',
            `${moment(one.resolvedAt)}${end ? `, ${endedBy(one.bankName, end.cause)}` : ''}`,
          ],
          end?.bankTransactionId != null && ['By its reversal', <Id of={end.bankTransactionId} />],
          one.reference !== null &&
            !besidePayment && [
              one.refundId === null ? 'Charge' : 'Refund',
              <RecordLink of={one.reference} />,
            ],
          one.bankTransactionId != null && ['Bank’s transaction', <Id of={one.bankTransactionId} />],
          one.note !== null && ['Note', one.note],
          !besidePayment && one.merchantName !== null && ['Merchant', one.merchantName],
          !besidePayment && ['Bank', one.bankName],
        ]}
      />
      {!besidePayment && (
        <Ids of={{ Exception: one.exceptionId, Merchant: one.merchantId, Bank: one.bankId }} />
      )}
      {one.answers.length > 0 && (
        <>
          <h3>What the bank answered</h3>
          <Timeline
            moment={moment}
            of={one.answers.map(({ at, says, bankTransactionId }) => ({
              at,
              what: 'bank',
              text: `${ANSWERS[says]}${bankTransactionId ? `, by its transaction ${bankTransactionId}` : ''}`,
            }))}
          />
        </>
      )}
      {!besidePayment && (
        <>
          <h3>What has happened</h3>
          <Timeline
            moment={moment}
            of={one.events.map((event) => ({ at: event.at, what: event.cause, text: eventInWords(event) }))}
          />
        </>
      )}
    </section>
  );
}

/** Says what an answer does to a charge or refund whose money did not stay. */
function consequence({ refundId, kind, answers }: ReconciliationExceptionWithEvents): string {
  if (refundId !== null && kind === 'unanswered') return 'The refund is rejected.';
  if (refundId !== null) return 'A completed refund is returned, unless this is about a second transfer.';
  const isSecondDebit = answers.length > 1 && answers.every(({ says }) => says === 'approved');
  return isSecondDebit
    ? 'This is about the second debit: the charge stands.'
    : 'A charge that stands as successful is reversed.';
}

interface Choice {
  said: Resolution;
  name: string;
  means: string;
  /** The bank's transaction that goes with it. */
  asked?: { label: string; required: boolean };
}

function choicesFor(exception: ReconciliationExceptionWithEvents): Choice[] {
  const { refundId, kind } = exception;
  const choices: Choice[] = [
    {
      said: 'no_money_moved',
      name: 'No money moved',
      means: `None of it moved. ${consequence(exception)}`,
    },
  ];
  if (refundId === null || kind !== 'unanswered')
    choices.push({
      said: 'reversed',
      name: 'The money moved, and we have taken it back',
      means: `Name the transaction that did so. ${consequence(exception)}`,
      asked: { label: 'Your transaction that took it back', required: true },
    });
  if (isUnpaid(exception))
    choices.push({
      said: 'confirmed',
      name: 'We have paid the refund',
      means: 'It is completed from now on, and the merchant is told.',
      // A transfer of a rejected refund may be the only one known.
      asked:
        kind === 'unanswered'
          ? { label: 'Your transaction that paid it', required: true }
          : { label: 'Your transaction that paid it, if there is more than one', required: false },
    });
  else if (canBeConfirmed(exception))
    choices.push({
      said: 'confirmed',
      name: 'Our first answer stands',
      means: 'Nothing is changed. Also where a second debit was reversed, and that one alone.',
    });
  return choices;
}

/** A refund that was rejected, or never answered, may be paid all the same. */
const isUnpaid = ({ refundId, kind, answers }: ReconciliationExceptionWithEvents): boolean =>
  refundId !== null && (kind === 'unanswered' || answers[0]?.says === 'rejected');

/** A first answer can stand for a charge with two answers, or for a refund completed first. */
function canBeConfirmed({ refundId, answers, events }: ReconciliationExceptionWithEvents): boolean {
  if (refundId !== null) return answers[0]?.says === 'completed';
  return events.some(({ kind }) => kind === 'conflicting_answer');
}

interface AnswerProps {
  to: ReconciliationExceptionWithEvents;
  done: Done;
}

function Answer({ to: exception, done }: AnswerProps) {
  const { entityId } = useSession();
  const may = useMay('clerk');
  if (exception.state === 'resolved' || !may) return null;
  if (exception.bankId !== entityId) {
    return (
      <p class="card quiet">The payer’s bank, or the network’s operator, says what became of the money.</p>
    );
  }
  return (
    <section class="card stack">
      <h2>What became of the money?</h2>
      {choicesFor(exception).map((choice) => (
        <div class="row" key={choice.said}>
          <Said choice={choice} to={exception} done={done} />
          <span class="quiet small">{choice.means}</span>
        </div>
      ))}
    </section>
  );
}

const Said = ({ choice, to: exception, done }: AnswerProps & { choice: Choice }) => (
  <Act
    name={`${choice.name} …`}
    title={`${choice.name}: resolve the exception of ${money(exception, exception.currency)}?`}
    yes="Yes, resolve it"
    send={async (given) => {
      const path = `/v1/reconciliation/exceptions/${exception.exceptionId}/respond`;
      const { message, waits } = await change('POST', path, { resolution: choice.said, ...given });
      return waits ? message : `It is resolved: ${choice.name}.`;
    }}
    done={done}
  >
    <p>{choice.means} Your answer is final, and both sides are told.</p>
    {choice.asked && (
      <label>
        {choice.asked.label}
        <input name="bankTransactionId" required={choice.asked.required} />
      </label>
    )}
    <label>
      Note for yourselves, without personal data
      <input name="note" maxLength={500} />
    </label>
  </Act>
);
