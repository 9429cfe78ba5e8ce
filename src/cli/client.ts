import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../settings/config';
import {
  addClient,
  CLIENT_STANDING_TTL_MS,
  disableClient,
  findClient,
  listClients,
  rotateClientSecret,
} from '../database/entity/client-credential';
import { findEntity } from '../database/entity/create-entity';
import { requireRing } from '../database/key-rotation/claim-keyring';
import type { Database } from '../database/pool/connection';
import { OperatorError } from '../domain/failures';
import { NAME_MAX, parseText } from '../domain/plain-text';
import type { Scope } from '../domain/scope';
import { command, onEngine, shownOnce, unknownEntity, type Outcome } from './command';
import {
  atOnceOption,
  operator,
  parsedOption,
  reasonOption,
  scopesOption,
  type AtOnce,
  type Explained,
} from './options';
import { tableOf } from './output';

interface Added extends Explained {
  entity: string;
  name: string;
  scopes: Scope[];
}

export function fill(client: Command): void {
  command(client, 'add', 'give a party one more client; its secret is shown once')
    .requiredOption('--entity <entityId>', 'the party')
    .addOption(
      parsedOption('--name <name>', 'the system that uses it', (given) =>
        parseText(given, NAME_MAX),
      ).makeOptionMandatory(),
    )
    .addOption(scopesOption('all that the system does').makeOptionMandatory())
    .addOption(reasonOption())
    .action(onEngine(add));

  command(client, 'list', 'those of a party, oldest first')
    .requiredOption('--entity <entityId>', 'the party')
    .action(onEngine(list, requireRing));

  command(client, 'rotate', 'make a new secret; the old one stays good for 24 h')
    .argument('<clientId>')
    .addOption(atOnceOption())
    .addOption(reasonOption())
    .action(onEngine(rotate));

  command(client, 'disable', 'end it for good, with its tokens')
    .argument('<clientId>')
    .addOption(reasonOption())
    .action(onEngine(disable));
}

const unknownClient = () => new OperatorError('there is no such client: see "assent client list"');

async function add(
  db: Database,
  _config: Config,
  { entity: entityId, name, scopes, ...explained }: Added,
): Promise<Outcome> {
  const by = operator(explained);
  const made = await db.transaction((trx) => addClient(trx, by, { entityId, name, scopes }));
  if (made === undefined) throw unknownEntity();
  return shownOnce(made);
}

async function list(
  db: Database,
  _config: Config,
  { entity: entityId }: { entity: string },
): Promise<Outcome> {
  if ((await findEntity(db, entityId)) === undefined) throw unknownEntity();
  const clients = await listClients(db, entityId);
  const table = clients.map((one) => [one.clientId, one.name, one.scopes.join(' '), one.disabled]);
  return { json: { clients }, text: tableOf(['clientId', 'name', 'scopes', 'disabled'], table) };
}

async function rotate(
  db: Database,
  _config: Config,
  clientId: string,
  { now: endOld = false, ...explained }: AtOnce,
): Promise<Outcome> {
  const client = await findClient(db, clientId);
  if (client === undefined) throw unknownClient();
  const by = operator(explained);
  const clientSecret = await db.transaction((trx) => rotateClientSecret(trx, by, client, { endOld }));
  return shownOnce({ ...client, clientSecret });
}

async function disable(
  db: Database,
  _config: Config,
  clientId: string,
  options: Explained,
): Promise<Outcome> {
  const ended = await db.transaction((trx) => disableClient(trx, operator(options), clientId));
  if (ended === undefined) throw unknownClient();
  // A process that has just looked takes its tokens for as long.
  await sleep(CLIENT_STANDING_TTL_MS);
  return { json: ended, text: `${clientId} is disabled for good; its tokens are refused` };
}
