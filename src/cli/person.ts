import { Argument, Option, type Command } from 'commander';
import { addPerson, changePerson, invitePerson, listPersons, type Invited } from '../database/person/person';
import { findEntity } from '../database/entity/create-entity';
import { requireRing } from '../database/key-rotation/claim-keyring';
import type { Database } from '../database/pool/connection';
import { parseEmail } from '../domain/contact';
import { PERSON_ROLES, shownInvitation, type PersonRole } from '../domain/person';
import type { Config } from '../settings/config';
import { command, onEngine, shownOnce, unknownEntity, type Outcome } from './command';
import { operator, parsedOption, reasonOption, type Explained } from './options';
import { tableOf } from './output';

interface NewPerson extends Explained {
  entity: string;
  email: string;
  role: PersonRole;
}

const entityOption = () =>
  new Option('--entity <entityId>', 'whom the person acts for').makeOptionMandatory();

export function fill(person: Command): void {
  command(person, 'add', 'make one; the link is shown once, and good for 24 h')
    .addOption(entityOption())
    .addOption(parsedOption('--email <address>', 'the person’s address', parseEmail).makeOptionMandatory())
    .addOption(
      new Option('--role <role>', 'a viewer reads, a clerk acts, an admin manages persons')
        .choices(PERSON_ROLES)
        .makeOptionMandatory(),
    )
    .addOption(reasonOption())
    .action(onEngine(add));

  command(person, 'list', 'all of an entity, oldest first')
    .addOption(entityOption())
    .action(onEngine(list, requireRing));

  const act = (name: string, words: string) =>
    command(person, name, words).argument('<personId>').addOption(reasonOption());

  act('role', 'set what one may do, from the next call on')
    .addArgument(new Argument('<role>').choices(PERSON_ROLES))
    .action(
      onEngine(async (db, _config, ...[personId, role, options]: [string, PersonRole, Explained]) =>
        change(db, personId, options, { role }),
      ),
    );
  act('disable', 'keep one out, from the next call on').action(setDisabled(true));
  act('enable', 'let one in again').action(setDisabled(false));
  act('invite', 'make a new link; used, it ends the passkeys that the person has').action(onEngine(invite));
}

const setDisabled = (disabled: boolean) =>
  onEngine(async (db, _config, personId: string, options: Explained) =>
    change(db, personId, options, { disabled }),
  );

async function add(
  db: Database,
  config: Config,
  { entity, email, role, ...options }: NewPerson,
): Promise<Outcome> {
  const by = operator(options);
  return shownLink(config, await db.transaction((trx) => addPerson(trx, by, entity, { email, role })));
}

async function list(db: Database, _config: Config, { entity }: { entity: string }): Promise<Outcome> {
  if ((await findEntity(db, entity)) === undefined) throw unknownEntity();
  const persons = await listPersons(db, entity);
  const table = persons.map((one) => [one.personId, one.email, one.role, one.disabled ? 'disabled' : null]);
  return { json: { persons }, text: tableOf(['personId', 'email', 'role', ''], table) };
}

async function change(
  db: Database,
  personId: string,
  options: Explained,
  to: Parameters<typeof changePerson>[3],
): Promise<Outcome> {
  const by = operator(options);
  const changed = await db.transaction((trx) => changePerson(trx, by, { personId }, to));
  return { json: changed, text: `${personId} is ${changed.disabled ? 'disabled' : `a ${changed.role}`} now` };
}

async function invite(db: Database, config: Config, personId: string, options: Explained): Promise<Outcome> {
  const by = operator(options);
  return shownLink(config, await db.transaction((trx) => invitePerson(trx, by, { personId })));
}

const shownLink = ({ CONSOLE_URL }: Config, invited: Invited): Outcome =>
  shownOnce(shownInvitation(CONSOLE_URL, invited), 'The link is good for 24 hours, and once');
