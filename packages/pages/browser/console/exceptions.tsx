import type { ReconciliationException } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { kindInWords } from '../parts/payment-words';
import { to, type Address } from './address';
import { query } from './api';
import { Choice, usePaged } from './choice';
import { useMoment, useSession } from './context';
import { ExceptionShown } from './exception';
import { Show, useLoaded } from './loaded';
import { RecordLink } from './parts';
import { Save } from './save';
import { Pages, Table } from './table';
import { bookedInWords, resolutionInWords, toneOf } from './words';

const EXCEPTIONS = '/v1/reconciliation/exceptions';
const STATES = { open: 'Open', investigating: 'Being looked into', resolved: 'Resolved' } as const;

export function Exceptions({ address: { id } }: { address: Address }) {
  return id === undefined ? <WorkList /> : <ExceptionShown id={id} />;
}

function WorkList() {
  const paged = usePaged<ReconciliationException['state']>('open', 'openedAt', 'ascending');
  const { chosen: state, asked, sorting, choose, go } = paged;
  const loaded = useLoaded<'listExceptions'>(`${EXCEPTIONS}${query({ state, ...asked })}`);
  const { role, name } = useSession();
  const moment = useMoment();
  return (
    <section class="card stack">
      <p class="quiet">
        Where the network’s word and a bank’s may differ, money may have moved, and a person has to look.
      </p>
      <div class="head">
        <Choice value={state} names={STATES} choose={choose} />
        <Save path={EXCEPTIONS + query({ state })} name={`${name} exceptions ${state}`}>
          Download as CSV
        </Save>
      </div>
      <Show loaded={loaded} what="The exceptions">
        {(found) => (
          <>
            <Table
              caption={`Reconciliation exceptions: ${STATES[state]}`}
              rows={found.exceptions}
              keyOf={({ exceptionId }) => exceptionId}
              empty={state === 'open' ? 'No exception is open.' : 'There is no such exception.'}
              sorting={sorting}
              columns={[
                {
                  name: 'What happened',
                  to: ({ exceptionId }) => to('exceptions', exceptionId),
                  cell: ({ kind }) => kindInWords(kind),
                },
                {
                  name: role === 'merchant' ? 'Bank' : 'Merchant',
                  cell: ({ bankName, merchantName }) => (
                    <>
                      {role === 'merchant' ? bankName : (merchantName ?? '–')}
                      {role === 'provider' && <div class="small quiet">{bankName}</div>}
                    </>
                  ),
                },
                {
                  name: 'Amount',
                  number: true,
                  sortBy: 'amount',
                  cell: (one) => {
                    const booked = bookedInWords(one);
                    return (
                      <>
                        {money(one, one.currency)}
                        {booked !== undefined && <div class="small quiet">booked {booked}</div>}
                      </>
                    );
                  },
                },
                {
                  name: 'Reference',
                  cell: ({ reference }) => (reference === null ? '–' : <RecordLink of={reference} />),
                },
                { name: 'Opened', sortBy: 'openedAt', cell: ({ openedAt }) => moment(openedAt) },
                {
                  name: 'State',
                  cell: (one) => (
                    <>
                      <span class={`badge ${toneOf(one.state)}`}>{STATES[one.state]}</span>
                      {one.resolution && <div class="small">{resolutionInWords(one.resolution)}</div>}
                    </>
                  ),
                },
              ]}
            />
            <Pages listed={found} go={go} />
          </>
        )}
      </Show>
    </section>
  );
}
