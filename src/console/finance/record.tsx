import { useEffect } from 'preact/hooks';
import { useSession } from './context';
import { search, type Found } from './look-up';
import { Show, useAnswered, useNotice } from './loaded';
import { Payment } from './payment';
import { BankStatementFound, IntentFound } from './record-found';
import { Webhook } from './webhook';

/** The record of a reference or an id. */
export function RecordFound({ what }: { what: string }) {
  const { role } = useSession();
  const loaded = useAnswered(what, (one) => search(one, role));
  // Kept while the record is loaded again.
  const { notice, done } = useNotice(loaded);
  return (
    <>
      <p>
        <a href="#/payments">All payments</a>
      </p>
      {notice}
      <Show loaded={loaded} what="What was found">
        {(found) => <Result found={found} what={what} done={done} />}
      </Show>
    </>
  );
}

function Result({ found, what, done }: { found: Found; what: string; done: (message: string) => void }) {
  if (found.is === 'transaction') return <Payment of={found.transaction} done={done} />;
  if (found.is === 'intent') return <IntentFound intent={found.intent} />;
  if (found.is === 'delivery') {
    return (
      <section class="card stack">
        <Webhook id={what} />
      </section>
    );
  }
  if (found.is === 'statement') return <BankStatementFound statement={found.statement} />;
  if (found.is === 'elsewhere') return <Elsewhere at={found.at} />;
  return (
    <p class="card" role="status">
      Nothing of yours goes by “{what}”. Look whether it is whole: references have 24 letters and digits.
    </p>
  );
}

/** In place of this page, so that going back does not lead here again. */
function Elsewhere({ at }: { at: string }) {
  useEffect(() => location.replace(at), [at]);
  return null;
}
