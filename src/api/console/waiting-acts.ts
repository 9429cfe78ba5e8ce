import { z } from 'zod';
import { changeTwoPersonLimit, readTwoPersonLimit } from '../../database/person-act/two-person-limit';
import { decideAct, endRefused } from '../../database/person-act/decide-act';
import { listActs, readAct, type PersonAct } from '../../database/person-act/read-acts';
import { listPersons } from '../../database/person/person';
import type { Transaction } from '../../database/pool/connection';
import { recordAuditEvent } from '../../database/record/audit-event';
import { Failure, FAILURES, invalidRequest } from '../../domain/failures';
import { formatIfAny, parseAmount } from '../../domain/money';
import {
  ACT_STATES,
  approvalRefusal,
  decisionRefusal,
  shownLimit,
  type TwoPersonLimit,
} from '../../domain/two-person';
import { actorOf, type Accepted, type BodyCall, type Call, type PathCall } from '../http/call';
import type { Caller, CallingPerson } from '../http/caller';
import { ANYONE } from '../http/callers';
import { UNDOCUMENTED } from '../http/operation';
import { id } from '../http/request-fields';
import * as shown from '../http/response-fields';
import { onRecord, section, type Route } from '../http/route';

/** Acts that wait for a second person, and the limit beyond which they do. */

const actPath = z.strictObject({ actId: id('waitingAct') });

const limits = z.record(z.string().regex(/^[A-Z]{3}$/, 'must be a currency'), z.number()).nullable();
const limitBody = z.strictObject({ twoPersonAbove: limits });

const actShown = z.strictObject({
  actId: z.string(),
  operation: z.string(),
  /** Path and body of the call. */
  request: z.record(z.string(), z.unknown()),
  amount: z.number().nullable(),
  currency: z.string().nullable(),
  state: z.enum(ACT_STATES),
  askedBy: z.string(),
  askedAt: shown.moment(''),
  lapsesAt: shown.moment(''),
  decidedBy: z.string().nullable(),
  decidedAt: shown.moment('').nullable(),
  refusal: z.string().nullable(),
  mayRefuse: z.boolean(),
  /** Why its reader may not approve it; null where they may. */
  whyNot: z.string().nullable(),
});

function personOf({ person }: Caller): CallingPerson {
  if (person === undefined) throw new Error('a row of the console was served to no person');
  return person;
}

async function showActs({ caller, deps }: Call) {
  const by = personOf(caller);
  const [found, persons] = await Promise.all([
    listActs(deps.db, caller.entityId),
    listPersons(deps.db, caller.entityId),
  ]);
  const emails = new Map(persons.map(({ personId, email }) => [personId, email]));
  const acts = found.map((act) => ({
    ...shown.fieldsOf(actShown, act),
    request: { ...act.request.params, ...act.request.body },
    amount: formatIfAny(act.amount, act.currency),
    askedBy: emails.get(act.personId) ?? '',
    decidedBy: act.decidedBy === null ? null : (emails.get(act.decidedBy) ?? ''),
    mayRefuse: decisionRefusal(act, by) === undefined,
    whyNot: approvalRefusal(act, by)?.message ?? null,
  }));
  return { message: `${acts.filter(({ state }) => state === 'waiting').length} acts wait`, data: { acts } };
}

/** The act, done as its requester would do it now, in the transaction that approves it. */
const approving = (table: () => readonly Route[]) => async (call: PathCall<typeof actPath>) => {
  const { caller, deps } = call;
  const by = personOf(caller);
  const act = await readAct(deps.db, caller.entityId, call.params.actId);
  const refusal = approvalRefusal(act, by);
  if (refusal) throw refusal;
  const row = table().find(({ operation }) => operation.id === act.operation);
  if (row === undefined) throw new Error(`no row has the operation ${act.operation}`);
  const { personId, personRole: role } = act;
  const asked: Call = { ...call, ...act.request, caller: { ...caller, person: { ...by, personId, role } } };
  let isApproved = false;
  const accept: Call['accept'] = (work, afterRefusal) =>
    call.accept(
      async (trx) => {
        await decide(trx, call, act, 'approved');
        isApproved = true;
        const outcome = await onRecord(trx, asked, row, work);
        if (outcome instanceof Failure) await refused(trx, call, act, { was: 'approved', by: outcome });
        return outcome;
      },
      async (failure) => {
        await afterRefusal?.(failure);
        // A fault of ours leaves the act as it was.
        if (!isApproved || FAILURES[failure.code].status >= 500) return;
        await deps.db.transaction((trx) => refused(trx, call, act, { was: 'waiting', by: failure }));
      },
    );
  return (await row.handle({ ...asked, accept })) as Accepted;
};

async function refuse(call: PathCall<typeof actPath>) {
  const { accept, caller, deps, params } = call;
  const act = await readAct(deps.db, caller.entityId, params.actId);
  const refusal = decisionRefusal(act, personOf(caller));
  if (refusal) throw refusal;
  return accept(async (trx) => {
    await decide(trx, call, act, 'refused');
    return { message: 'It is refused, and nothing is done' };
  });
}

/** @throws Failure already_decided */
async function decide(
  trx: Transaction,
  call: PathCall<typeof actPath>,
  { actId, operation }: PersonAct,
  state: 'approved' | 'refused',
): Promise<void> {
  const { entityId } = call.caller;
  const { personId, role } = personOf(call.caller);
  if (!(await decideAct(trx, actId, { state, personId }))) {
    const now = await readAct(trx, entityId, actId);
    throw decisionRefusal(now, personOf(call.caller)) ?? new Error(`${actId} is open, and was not decided`);
  }
  await recordAuditEvent(trx, actorOf(call), {
    action: `person.act_${state}`,
    entityId,
    after: { actId, operation, role, ...(state === 'approved' && { commitId: trx.commitId }) },
  });
}

/** The approved act met a refusal. */
async function refused(
  trx: Transaction,
  call: PathCall<typeof actPath>,
  { actId, operation }: PersonAct,
  { was, by: { code: refusal } }: { was: 'waiting' | 'approved'; by: Failure },
): Promise<void> {
  const { entityId } = call.caller;
  const { personId, role } = personOf(call.caller);
  await endRefused(trx, actId, { was, personId, refusal });
  await recordAuditEvent(trx, actorOf(call), {
    action: 'person.act_refused',
    entityId,
    after: { actId, operation, role, refusal },
  });
}

async function showLimit({ caller, deps }: Call) {
  const limit = await readTwoPersonLimit(deps.db, caller.entityId);
  const twoPersonAbove = limit ? shownLimit(limit) : null;
  const message = twoPersonAbove ? 'Above it a second person approves' : 'Nothing waits for a second person';
  return { message, data: { twoPersonAbove } };
}

async function putLimit(call: BodyCall<typeof limitBody>) {
  const { accept, body, caller } = call;
  const above = minorUnits(body.twoPersonAbove ?? {});
  return accept(async (trx) => {
    await changeTwoPersonLimit(trx, actorOf(call), caller.entityId, above);
    return { message: 'The limit is set', data: { twoPersonAbove: shownLimit(above) } };
  });
}

/** @throws Failure invalid_request */
function minorUnits(limit: Record<string, number>): TwoPersonLimit {
  const parsed = Object.entries(limit).map(([currency, amount]) => ({
    currency,
    amount: parseAmount(amount, currency),
  }));
  const problems = parsed.flatMap(({ currency, amount }) =>
    amount.ok ? [] : [{ path: `twoPersonAbove.${currency}`, message: amount.reason }],
  );
  if (problems.length > 0) throw invalidRequest(problems);
  return new Map(parsed.flatMap(({ currency, amount }) => (amount.ok ? [[currency, amount.value]] : [])));
}

const row = section('Console');
const ACTS = '/v1/console/waiting-acts';
const LIMIT = '/v1/console/two-person-limit';

const shownLimits = { 200: { description: '', data: z.strictObject({ twoPersonAbove: limits }) } };

/** @param table where an act finds its row again */
export const waitingActRoutes = (table: () => readonly Route[]) => [
  row('get', ACTS, {
    ...UNDOCUMENTED,
    id: 'listWaitingActs',
    takes: ANYONE,
    answers: { 200: { description: '', data: z.strictObject({ acts: z.array(actShown) }) } },
    handle: showActs,
  }),
  row('post', `${ACTS}/:actId/approve`, {
    ...UNDOCUMENTED,
    id: 'approveWaitingAct',
    takes: { person: 'clerk', ...ANYONE, params: actPath },
    // The answer is that of the act.
    answers: { 200: { description: '' } },
    handle: approving(table),
  }),
  row('post', `${ACTS}/:actId/refuse`, {
    ...UNDOCUMENTED,
    id: 'refuseWaitingAct',
    takes: { person: 'clerk', ...ANYONE, params: actPath },
    answers: { 200: { description: '' } },
    handle: refuse,
  }),
  row('get', LIMIT, {
    ...UNDOCUMENTED,
    id: 'getTwoPersonLimit',
    takes: ANYONE,
    answers: shownLimits,
    handle: showLimit,
  }),
  row('put', LIMIT, {
    ...UNDOCUMENTED,
    id: 'setTwoPersonLimit',
    takes: { person: 'admin', ...ANYONE, body: limitBody, moves: 'always' },
    answers: shownLimits,
    handle: putLimit,
  }),
];
