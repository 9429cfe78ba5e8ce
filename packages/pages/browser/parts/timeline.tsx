import type { TransactionWithEvents } from '../../../client/src/api.generated';
import { eventInWords } from './payment-words';

interface Step {
  at: string;
  what: string;
  text: string;
}

/** @param moment writes a moment for the reader */
export function Timeline({ of, moment }: { of: Step[]; moment: (at: string) => string }) {
  return (
    <ol class="timeline">
      {of.map(({ at, what, text }, i) => (
        <li key={i}>
          <span class="quiet">{moment(at)}</span>
          <span>
            <span class="badge">{what}</span>
          </span>
          <p>{text}</p>
        </li>
      ))}
    </ol>
  );
}

/** Events and timeline of a payment, as the API shows them. */
export type Story = Pick<TransactionWithEvents, 'events' | 'timeline'>;

export function PaymentStory({ of, moment }: { of: Story; moment: (at: string) => string }) {
  return (
    <>
      <Timeline
        of={of.events.map((event) => ({ at: event.at, what: event.cause, text: eventInWords(event) }))}
        moment={moment}
      />
      <details>
        <summary>Every step in real time, with ids</summary>
        <Timeline of={of.timeline} moment={moment} />
      </details>
    </>
  );
}
