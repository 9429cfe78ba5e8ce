import type { ComponentChildren } from 'preact';
import type { Agreement, BankStatement, Intent } from '../../../client/src/api.generated';
import { reasonInWords } from '../parts/payment-words';
import { Timeline } from '../parts/timeline';
import { Consent } from './consent';
import { useMoment, useSession } from './context';
import { Badge, Facts, Id, RecordLink } from './parts';
import { Save } from './save';
import { stateInWords } from './words';

/* Records that a search finds and that are no payments. */

function Found({ name, state, children }: { name: string; state: string; children: ComponentChildren }) {
  return (
    <section class="card stack">
      <h2>
        {name} <Badge of={state} />
      </h2>
      {children}
    </section>
  );
}

/** An intent asks a customer for permission to charge. */
export function IntentFound({ intent }: { intent: Intent }) {
  const moment = useMoment();
  const { status, reason, createdAt, closedAt, customerDecision } = intent;
  const ended = customerDecision ?? (reason === null ? status : reasonInWords(reason));
  return (
    <Found name={`Intent: ${intent.description}`} state={status}>
      <Facts
        of={[
          ['Currency', intent.currency],
          ['Answer by', moment(intent.expiresAt)],
          ['Customer', <RecordLink of={intent.customerId} />],
          ['Merchant', <RecordLink of={intent.entityId} />],
          ['Id', <Id of={intent.intentId} />],
        ]}
      />
      <Timeline
        moment={moment}
        of={[
          { at: createdAt, what: 'asked', text: 'The merchant asked for permission' },
          ...(closedAt === null ? [] : [{ at: closedAt, what: status, text: `It ended: ${ended}` }]),
        ]}
      />
    </Found>
  );
}

/** A customer's permission for the merchant. */
export function AgreementFound({ agreement }: { agreement: Agreement }) {
  return (
    <Found name="Agreement" state={agreement.state}>
      <Consent of={agreement} about="of the agreement" />
      <Facts
        of={[
          ['Decision', stateInWords(agreement.decision)],
          ['Customer', <RecordLink of={agreement.customerId} />],
          ['Merchant', <RecordLink of={agreement.merchantId} />],
          ['Id', <Id of={agreement.agreementId} />],
        ]}
      />
    </Found>
  );
}

/** A bank's file of the transactions in its books. */
export function BankFileFound({ statement }: { statement: BankStatement }) {
  const moment = useMoment();
  const { name } = useSession();
  const { status, summary, createdAt, completedAt } = statement;
  return (
    <Found name="Statement of yours" state={status}>
      <Facts
        of={[
          ['Lines', summary.lines],
          ['Matched', summary.matched],
          ['Said before', summary.duplicates],
          ['Unknown here', summary.unknownHere],
          ['With another amount', summary.amountDiffers],
          ['Missing at the bank', summary.missingAtBank],
          ['Cannot be read', summary.malformed],
          ['Id', <Id of={statement.statementId} />],
        ]}
      />
      <Timeline
        moment={moment}
        of={[
          { at: createdAt, what: 'arrived', text: 'It had arrived' },
          ...(completedAt === null
            ? []
            : [{ at: completedAt, what: status, text: 'All of it was compared' }]),
        ]}
      />
      <Save path={statement.differencesUrl} name={`${name} bank file differences ${moment(createdAt)}`}>
        Download its differences as CSV
      </Save>
    </Found>
  );
}
