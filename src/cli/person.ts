import { Argument, Option, type Command } from 'commander';
import { addPerson, changePerson, invitePerson, listPersons, type Invited } from '../database/person/person';
import { findEntity } from '../database/entity/create-entity';
import { requireRing } from '../database/key-rotation/claim-keyring';
import type { Database, Transaction } from '../database/pool/connection';
import { parseEmail } from '../domain/contact';
import { OperatorError } from '../domain/failures';
import { PERSON_ROLES, shownInvitation, type PersonRole } from '../domain/person';
import type { Config } from '../settings/config';
import { command, onEngine, unknownEntity, type Outcome } from './command';
import { operator, parsedOption, reasonOption, type Explained } from './options';
import { factsOf, tableOf } from './output';

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

  command(person, 'role', 'set what one may do, from the next call on')
    .argument('<personId>')
    .addArgument(new Argument('<role>').choices(PERSON_ROLES))
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, ...[personId, role, options]: [string, PersonRole, Explained]) =>
        change(db, personId, options, { role }),
      ),
    );

  const act = (name: string, words: string) =>
    command(person, name, words).argument('<personId>').addOption(reasonOption());

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
  const added = await db.transaction((trx) => addPerson(trx, operator(options), entity, { email, role }));
  if (added === undefined) throw unknownEntity();
  return shownOnce(config, added);
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
  const changed = await known(db, (trx) => changePerson(trx, operator(options), { personId }, to));
  const { role, disabled } = changed;
  return { json: changed, text: `${personId} is ${disabled ? 'disabled' : `a ${role}`} now` };
}

async function invite(db: Database, config: Config, personId: string, options: Explained): Promise<Outcome> {
  return shownOnce(config, await known(db, (trx) => invitePerson(trx, operator(options), { personId })));
}

async function known<Result>(
  db: Database,
  work: (trx: Transaction) => Promise<Result | undefined>,
): Promise<Result> {
  const result = await db.transaction(work);
  if (result === undefined)
    throw new OperatorError('there is no such person: see "assent person list --entity ID"');
  return result;
}

function shownOnce(config: Config, invited: Invited): Outcome {
  const json = shownInvitation(config.CONSOLE_URL, invited);
  const text = `${factsOf(Object.entries(json))}\nThe link is good for 24 hours, and once: it is not shown again.`;
  return { json, text };
}
