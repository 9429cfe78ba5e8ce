import { z } from 'zod';
import {
  decideAct,
  listActs,
  readAct,
  subjectOf,
  type PersonAct,
} from '../../database/person-act/person-act';
import { changeTwoPersonLimit, readTwoPersonLimit } from '../../database/person-act/two-person-limit';
import { listPersons } from '../../database/person/person';
import type { Executor, Transaction } from '../../database/pool/connection';
import { recordAuditEvent } from '../../database/record/audit-event';
import { Failure, FAILURES, invalidRequest, type FailureCode } from '../../domain/failures';
import { formatIfAny, parseAmount } from '../../domain/money';
import { decisionRefusal, shownLimit } from '../../domain/person-act';
import { actorOf, type Accepted, type BodyCall, type Call, type PathCall } from '../http/call';
import { personOf } from '../http/caller';
import { id } from '../http/request-fields';
import { onRecord, type Route } from '../http/route';
import { consoleRow } from './row';

/** Acts that wait for a second person, and the limit beyond which they do. */

const actPath = z.strictObject({ actId: id('personAct') });
type ActCall = PathCall<typeof actPath>;

const limitBody = z.strictObject({
  twoPersonAbove: z.record(z.string().regex(/^[A-Z]{3}$/), z.number()).nullable(),
});

async function showActs({ caller, deps: { db } }: Call) {
  const { entityId } = caller;
  const by = personOf(caller);
  const [all, persons, limit] = await Promise.all([
    listActs(db, entityId),
    listPersons(db, entityId),
    readTwoPersonLimit(db, entityId),
  ]);
  // An act on a person names an address, which admins alone see.
  const found = all.filter(({ leastRole }) => leastRole !== 'admin' || by.role === 'admin');
  const emails = new Map(persons.map(({ personId, email }) => [personId, email]));
  const acts = found.map((act) => ({
    ...act,
    request: namedRequest(act.request, emails),
    amount: formatIfAny(act.amount, act.currency),
    askedBy: emails.get(act.personId),
    decidedBy: emails.get(act.decidedBy ?? ''),
    whyNot: decisionRefusal(act, by, 'approved')?.message,
  }));
  const waiting = found.filter(({ state }) => state === 'waiting').length;
  return { message: `${waiting} acts wait`, data: { acts, twoPersonAbove: shownLimit(limit ?? new Map()) } };
}

/** Path and body as one, with the address of the person that they name. */
function namedRequest({ params, body }: PersonAct['request'], emails: Map<string, string>) {
  const email = emails.get(params['personId'] ?? '');
  return { ...(email !== undefined && { email }), ...params, ...body };
}

/** An act runs as its asker would run it now, in the transaction that approves it. */
const approving = (table: () => readonly Route[]) => async (call: ActCall) => {
  const { caller, deps } = call;
  const by = personOf(caller);
  const act = await openAct(call, 'approved');
  const { personId, role, operation, request } = act;
  const row = table().find((one) => one.operation.id === operation);
  if (row === undefined) throw new Error(`no row has the operation ${operation}`);
  const asked: Call = { ...call, ...request, caller: { ...caller, person: { ...by, personId, role } } };
  const accept: Call['accept'] = (work, afterRefusal) =>
    call.accept(
      async (trx) => {
        await decide(trx, call, act, 'approved');
        const outcome = await onRecord(trx, asked, row, work);
        if (outcome instanceof Failure) await decide(trx, call, act, 'refused', outcome.code);
        return outcome;
      },
      async (failure) => {
        await afterRefusal?.(failure);
        // A fault of ours leaves the act as it was.
        if (FAILURES[failure.code].status >= 500) return;
        await deps.db.transaction((trx) => decide(trx, call, act, 'refused', failure.code));
      },
    );
  return (await row.handle({ ...asked, accept })) as Accepted;
};

async function refuse(call: ActCall) {
  const act = await openAct(call, 'refused');
  return call.accept(async (trx) => {
    await decide(trx, call, act, 'refused');
    return { message: 'It is refused, and nothing is done' };
  });
}

/** @throws Failure not_found; already_decided; forbidden */
async function openAct(
  { caller, deps, params }: ActCall,
  decision: 'approved' | 'refused',
  db: Executor = deps.db,
) {
  const act = await readAct(db, caller.entityId, params.actId);
  const refusal = decisionRefusal(act, personOf(caller), decision);
  if (refusal) throw refusal;
  return act;
}

/** @throws Failure already_decided */
async function decide(
  trx: Transaction,
  call: ActCall,
  act: PersonAct,
  state: 'approved' | 'refused',
  refusal: FailureCode | null = null,
): Promise<void> {
  const { actId, operation } = act;
  const { personId } = personOf(call.caller);
  if (!(await decideAct(trx, actId, { state, personId, refusal }))) {
    await openAct(call, state, trx);
    throw new Error(`${actId} is open, and was not decided`);
  }
  await recordAuditEvent(trx, actorOf(call), {
    action: refusal === null ? `person.act_${state}` : 'person.act_failed',
    entityId: call.caller.entityId,
    after: {
      actId,
      operation,
      ...subjectOf(act.request, act),
      commitId: trx.commitId,
      ...(refusal && { refusal }),
    },
  });
}

async function putLimit(call: BodyCall<typeof limitBody>) {
  const { accept, body, caller } = call;
  const above = new Map<string, bigint>();
  for (const [currency, amount] of Object.entries(body.twoPersonAbove ?? {})) {
    const minor = parseAmount(amount, currency);
    if (!minor.ok) throw invalidRequest([{ path: `twoPersonAbove.${currency}`, message: minor.reason }]);
    above.set(currency, minor.value);
  }
  return accept(async (trx) => {
    await changeTwoPersonLimit(trx, actorOf(call), caller.entityId, above);
    return { message: 'The limit is set', data: { twoPersonAbove: shownLimit(above) } };
  });
}

const ACTS = '/v1/console/person-acts';
const DECISION = { person: 'clerk', params: actPath } as const;

/** @param table where an act finds its row again */
export const personActRoutes = (table: () => readonly Route[]) => [
  consoleRow('get', ACTS, { id: 'listPersonActs', takes: { person: 'viewer' }, handle: showActs }),
  consoleRow('post', `${ACTS}/:actId/approve`, {
    id: 'approvePersonAct',
    takes: DECISION,
    handle: approving(table),
  }),
  consoleRow('post', `${ACTS}/:actId/refuse`, { id: 'refusePersonAct', takes: DECISION, handle: refuse }),
  consoleRow('put', '/v1/console/two-person-limit', {
    id: 'setTwoPersonLimit',
    takes: { person: 'admin', body: limitBody, moves: 'always' },
    handle: putLimit,
  }),
];
