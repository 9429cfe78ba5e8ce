import { z } from 'zod';
import {
  addPerson,
  changePerson,
  invitePerson,
  listPersons,
  type Invited,
} from '../../database/person/person';
import { Failure } from '../../domain/failures';
import { PERSON_ROLES, shownInvitation } from '../../domain/person';
import { actorOf, type BodyCall, type Call, type PathCall } from '../http/call';
import { ANYONE } from '../http/callers';
import type { ApiDeps } from '../http/deps';
import { UNDOCUMENTED } from '../http/operation';
import { email, id } from '../http/request-fields';
import { section } from '../http/route';

/** The persons of an entity, whom its admins add and change in the console. */

const ADMIN = { ...ANYONE, scope: 'manage', person: 'admin' } as const;
/** While the entity has a limit, two admins. */
const ADMINS = { ...ADMIN, moves: 'always' } as const;

const role = z.enum(PERSON_ROLES);
const personBody = z.strictObject({ email, role });
const roleBody = z.strictObject({ role });
const personPath = z.strictObject({ personId: id('person') });

const changed = z.strictObject({ personId: z.string(), role, disabled: z.boolean() });
const person = changed.extend({ email: z.string() });
const invited = z.strictObject({ personId: z.string(), email: z.string(), role, invitationUrl: z.string() });

async function showPersons({ caller, deps }: Call) {
  const persons = await listPersons(deps.db, caller.entityId);
  return { message: `${persons.length} persons`, data: { persons } };
}

const shownOnce = ({ config }: ApiDeps, given: Invited | undefined) => ({
  message: 'The link is good for 24 hours, and once',
  data: shownInvitation(config.CONSOLE_URL, found(given)),
});

async function add(call: BodyCall<typeof personBody>) {
  const { accept, body, caller, deps } = call;
  return accept(async (trx) => {
    return shownOnce(deps, await addPerson(trx, actorOf(call), caller.entityId, body));
  });
}

async function invite(call: PathCall<typeof personPath>) {
  const { accept, caller, deps, params } = call;
  return accept(async (trx) => {
    const of = { ...params, entityId: caller.entityId };
    return shownOnce(deps, await invitePerson(trx, actorOf(call), of));
  });
}

function change(call: PathCall<typeof personPath>, to: Parameters<typeof changePerson>[3]) {
  const { accept, caller, params } = call;
  return accept(async (trx) => {
    const data = found(await changePerson(trx, actorOf(call), { ...params, entityId: caller.entityId }, to));
    return { message: data.disabled ? 'The person is disabled' : `The person is a ${data.role}`, data };
  });
}

function found<Result>(result: Result | undefined): Result {
  if (result === undefined) throw new Failure('not_found', 'You have no such person');
  return result;
}

const row = section('Console');
const PERSONS = '/v1/console/persons';
const PERSON = `${PERSONS}/:personId`;

export const personRoutes = [
  row('get', PERSONS, {
    ...UNDOCUMENTED,
    id: 'listPersons',
    takes: ADMIN,
    answers: { 200: { description: '', data: z.strictObject({ persons: z.array(person) }) } },
    handle: showPersons,
  }),
  row('post', PERSONS, {
    ...UNDOCUMENTED,
    id: 'addPerson',
    takes: { ...ADMINS, body: personBody },
    answers: { 201: { description: '', data: invited } },
    handle: add,
  }),
  row('post', `${PERSON}/role`, {
    ...UNDOCUMENTED,
    id: 'setPersonRole',
    takes: { ...ADMINS, params: personPath, body: roleBody },
    answers: { 200: { description: '', data: changed } },
    handle: (call: Call<z.output<typeof roleBody>, unknown, z.output<typeof personPath>>) =>
      change(call, call.body),
  }),
  row('post', `${PERSON}/disable`, {
    ...UNDOCUMENTED,
    id: 'disablePerson',
    takes: { ...ADMINS, params: personPath },
    answers: { 200: { description: '', data: changed } },
    handle: (call: PathCall<typeof personPath>) => change(call, { disabled: true }),
  }),
  row('post', `${PERSON}/enable`, {
    ...UNDOCUMENTED,
    id: 'enablePerson',
    takes: { ...ADMINS, params: personPath },
    answers: { 200: { description: '', data: changed } },
    handle: (call: PathCall<typeof personPath>) => change(call, { disabled: false }),
  }),
  row('post', `${PERSON}/invite`, {
    ...UNDOCUMENTED,
    id: 'invitePerson',
    takes: { ...ADMINS, params: personPath },
    answers: { 200: { description: '', data: invited } },
    handle: invite,
  }),
];
