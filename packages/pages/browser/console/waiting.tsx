import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { money } from '../parts/money';
import { Act } from './act';
import { to } from './address';
import { ask, change, Refusal } from './api';
import { useMoment, useSession } from './context';
import { Show, useAnswered, useNotice, type Done } from './loaded';
import { AmountField, Badge, Facts, RecordLink } from './parts';
import { send } from './persons';
import { stateInWords } from './words';

/** As `src/api/console/person-acts.ts` shows them. */
interface Acts {
  acts: PersonAct[];
  twoPersonAbove: Record<string, number> | null;
}

interface PersonAct {
  actId: string;
  personId: string;
  operation: string;
  leastRole: 'clerk' | 'admin';
  request: Record<string, string | number | object | null>;
  amount: number | null;
  currency: string | null;
  askedBy: string;
  askedAt: string;
  lapsesAt: string;
  state: 'waiting' | 'approved' | 'refused' | 'lapsed';
  decidedBy?: string;
  decidedAt: string;
  /** The code by which the approved act was refused. */
  refusal: string | null;
  /** Why the reader may not approve it. */
  whyNot?: string;
}

const ACTS = '/v1/console/person-acts';

const OPERATIONS = new Map([
  ['initiateRefund', 'Refund'],
  ['respondToException', 'Answer to an exception'],
  ['addPerson', 'Add a person'],
  ['setPersonRole', 'Change a person’s role'],
  ['disablePerson', 'Disable a person'],
  ['enablePerson', 'Enable a person'],
  ['invitePerson', 'Invite a person again'],
  ['setTwoPersonLimit', 'Change the limit of two persons'],
]);

const WAYS = {
  approve: 'it is done at once, as it would be judged now.',
  refuse: 'nothing is done, and it can be asked for again.',
};

const DAY_MS = 86_400_000;

/** How many acts the reader may decide, and how many of the reader's own lapsed within a day. */
export async function countActs(by: string) {
  const { acts } = (await ask(ACTS)) as unknown as Acts;
  const isLate = ({ state, personId, lapsesAt }: PersonAct) =>
    state === 'lapsed' && personId === by && Date.parse(lapsesAt) > Date.now() - DAY_MS;
  return {
    toDecide: acts.filter(({ state, whyNot }) => state === 'waiting' && whyNot === undefined).length,
    lapsed: acts.filter(isLate).length,
  };
}

/**
 * Tells of acts that wait, beside what they are about: nobody shall ask for them again.
 *
 * @param about references and ids of exceptions
 * @param since loaded again with it
 */
export function WaitsForSecond({ about, since }: { about: string[]; since: object }) {
  const { person } = useSession();
  const moment = useMoment();
  const loaded = useAnswered<Acts>(person && ACTS, ask);
  useEffect(() => {
    if (loaded.data) loaded.reload();
  }, [since]);
  if (!person) return null;
  return (
    <Show loaded={loaded} what="What waits">
      {({ acts }) =>
        acts
          .filter(
            ({ state, request: { reference, exceptionId } }) =>
              state === 'waiting' && about.some((id) => id === (reference ?? exceptionId)),
          )
          .map((one) => (
            <p class="notice" key={one.actId}>
              <strong>{titleOf(one)}, waits for a second person.</strong> {one.askedBy} asked for it,{' '}
              {moment(one.askedAt)}: <a href={to('waiting')}>Waiting for you</a>.
            </p>
          ))
      }
    </Show>
  );
}

/** Acts that wait for a second person, what became of the others, and the limit. */
export function Waiting() {
  const loaded = useAnswered<Acts>(ACTS, ask);
  const { notice, done } = useNotice(loaded);
  return (
    <>
      {notice}
      <Show loaded={loaded} what="What waits">
        {({ acts, twoPersonAbove }) => {
          const shown = (waits: boolean) =>
            acts
              .filter(({ state }) => (state === 'waiting') === waits)
              .map((one) => <OneAct key={one.actId} of={one} among={acts} done={done} />);
          const [waiting, ended] = [shown(true), shown(false)];
          return (
            <>
              {waiting.length === 0 && (
                <p class="card empty quiet">Nothing waits for a second person’s approval.</p>
              )}
              {waiting}
              {ended.length > 0 && (
                <details>
                  <summary>Decided, or lapsed</summary>
                  {ended}
                </details>
              )}
              <Limit above={twoPersonAbove} done={done} />
            </>
          );
        }}
      </Show>
    </>
  );
}

function titleOf({ operation, amount, currency }: PersonAct) {
  const sum = amount !== null && currency !== null ? `, ${money(amount, currency)}` : '';
  return `${OPERATIONS.get(operation) ?? operation}${sum}`;
}

function OneAct({ of: one, among, done }: { of: PersonAct; among: PersonAct[]; done: Done }) {
  const moment = useMoment();
  const title = titleOf(one);
  const waits = one.state === 'waiting';
  const { reference } = one.request;
  const hasTwin =
    waits &&
    reference !== undefined &&
    among.some(
      (other) => other !== one && other.state === 'waiting' && other.request['reference'] === reference,
    );
  const ways = (['approve', 'refuse'] as const).filter(
    (way) => waits && (way === 'refuse' || one.whyNot === undefined),
  );
  return (
    <section class="card stack" aria-label={title}>
      <h2>
        {title} <Badge of={one.state} />
      </h2>
      <Facts
        of={[
          ['Asked by', `${one.askedBy}, ${moment(one.askedAt)}`],
          waits
            ? ['Lapses', moment(one.lapsesAt)]
            : one.decidedBy !== undefined && ['Decided by', `${one.decidedBy}, ${moment(one.decidedAt)}`],
          one.refusal !== null && ['It could not be done', one.refusal],
          ...Object.entries(one.request).map(
            ([name, value]) => [inWords(name), shownOf(name, value)] as const,
          ),
        ]}
      />
      {hasTwin && (
        <p class="notice bad">
          Another refund of the same charge waits too: with both approved, both are paid.
        </p>
      )}
      {waits && one.whyNot !== undefined && <p class="quiet">{one.whyNot}.</p>}
      <div class="row">
        {ways.map((way) => (
          <Act
            key={way}
            name={`${stateInWords(way)} …`}
            label={`${stateInWords(way)}: ${title}`}
            lowest={one.leastRole}
            title={`${stateInWords(way)} it?`}
            yes={`Yes, ${way} it`}
            send={() => decide(`${ACTS}/${one.actId}/${way}`)}
            done={done}
          >
            <p>
              {title}: {WAYS[way]}
            </p>
          </Act>
        ))}
      </div>
    </section>
  );
}

/** A refused approval often ends the act: the list is loaded again, and no second try offered. */
async function decide(path: string): Promise<ComponentChildren> {
  try {
    return await send(path);
  } catch (error) {
    if (!(error instanceof Refusal && isFinal(error))) throw error;
    return `Not done: ${error.message}`;
  }
}

const isFinal = ({ status }: Refusal) => status >= 400 && status < 500 && status !== 429;

/** `bankTransactionId` as `Bank transaction id`. */
const inWords = (field: string) =>
  stateInWords(field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

function shownOf(name: string, value: string | number | object | null) {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  if (name === 'reference') return <RecordLink of={text} />;
  if (name === 'exceptionId') return <a href={to('exceptions', text)}>{text}</a>;
  return text;
}

function Limit({ above, done }: { above: Acts['twoPersonAbove']; done: Done }) {
  const { currencies } = useSession();
  const all = [...new Set([...currencies, ...Object.keys(above ?? {})])];
  const sums = Object.entries(above ?? {})
    .map(([currency, amount]) => money(amount, currency))
    .join(', ');
  return (
    <section class="card stack" aria-labelledby="limit">
      <h2 id="limit">The limit of two persons</h2>
      <p class="quiet">
        {sums === ''
          ? 'There is none: each person acts alone.'
          : `A refund, or an answer that moves money, waits for a second person above ${sums}, alone or with what its person did alone in the last 24 hours. Two admins change persons and this limit.`}
      </p>
      <div>
        <Act
          name="Change the limit …"
          lowest="admin"
          title="Change the limit of two persons?"
          yes="Yes, change it"
          send={async (given) => {
            const amounts = Object.entries(given).map(([currency, amount]) => [currency, Number(amount)]);
            const limit = { twoPersonAbove: Object.fromEntries(amounts) as object };
            return (await change('PUT', '/v1/console/two-person-limit', limit)).message;
          }}
          done={done}
        >
          {all.map((currency) => (
            <AmountField
              key={currency}
              label={`Above, in ${currency}; empty for none`}
              name={currency}
              defaultValue={String(above?.[currency] ?? '')}
            />
          ))}
        </Act>
      </div>
    </section>
  );
}
