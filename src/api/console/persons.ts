import { z } from 'zod';
import {
  addPerson,
  changePerson,
  invitePerson,
  listPersons,
  type Invited,
} from '../../database/person/person';
import { PERSON_ROLES, shownInvitation } from '../../domain/person';
import { actorOf, type BodyCall, type Call, type PathCall } from '../http/call';
import type { ApiDeps } from '../http/deps';
import { email, id } from '../http/request-fields';
import { consoleRow } from './row';

/** The persons of an entity, whom its admins add and change in the console. */

/** While the entity has a limit, two admins. */
const ADMINS = { person: 'admin', moves: 'always' } as const;

const role = z.enum(PERSON_ROLES);
const personBody = z.strictObject({ email, role });
const roleBody = z.strictObject({ role });
const personPath = z.strictObject({ personId: id('person') });
type PersonCall = PathCall<typeof personPath>;

async function showPersons({ caller, deps }: Call) {
  const persons = await listPersons(deps.db, caller.entityId);
  return { message: `${persons.length} persons`, data: { persons } };
}

const shownOnce = ({ config }: ApiDeps, invited: Invited) => ({
  message: 'The link is good for 24 hours, and once',
  data: shownInvitation(config.CONSOLE_URL, invited),
});

const add = (call: BodyCall<typeof personBody>) =>
  call.accept(async (trx) =>
    shownOnce(call.deps, await addPerson(trx, actorOf(call), call.caller.entityId, call.body)),
  );

const own = ({ caller: { entityId }, params: { personId } }: PersonCall) => ({ personId, entityId });

const invite = (call: PersonCall) =>
  call.accept(async (trx) => shownOnce(call.deps, await invitePerson(trx, actorOf(call), own(call))));

const change = (call: PersonCall, to: Parameters<typeof changePerson>[3]) =>
  call.accept(async (trx) => {
    const data = await changePerson(trx, actorOf(call), own(call), to);
    return { message: data.disabled ? 'The person is disabled' : `The person’s role is ${data.role}`, data };
  });

const PERSONS = '/v1/console/persons';
const PERSON = `${PERSONS}/:personId`;
const ONE = { ...ADMINS, params: personPath };

export const personRoutes = [
  consoleRow('get', PERSONS, { id: 'listPersons', takes: { person: 'admin' }, handle: showPersons }),
  consoleRow('post', PERSONS, { id: 'addPerson', takes: { ...ADMINS, body: personBody }, handle: add }),
  consoleRow('post', `${PERSON}/role`, {
    id: 'setPersonRole',
    takes: { ...ONE, body: roleBody },
    handle: (call: BodyCall<typeof roleBody> & PersonCall) => change(call, call.body),
  }),
  ...(['disable', 'enable'] as const).map((verb) =>
    consoleRow('post', `${PERSON}/${verb}`, {
      id: `${verb}Person`,
      takes: ONE,
      handle: (call: PersonCall) => change(call, { disabled: verb === 'disable' }),
    }),
  ),
  consoleRow('post', `${PERSON}/invite`, { id: 'invitePerson', takes: ONE, handle: invite }),
];
