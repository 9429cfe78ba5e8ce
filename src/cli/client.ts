import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  addClient,
  STANDING_TTL_MS,
  disableClient,
  findClient,
  listClients,
  rotateClientSecret,
} from '../database/entity/client-credential';
import { requireRing } from '../database/key-rotation/claim-keyring';
import { OperatorError } from '../domain/failures';
import { NAME_MAX, parseText } from '../domain/plain-text';
import { parseScopes, SCOPES, type Scope } from '../domain/scope';
import { command, onEngine, shownOnce, unknownEntity } from './command';
import * as options from './options';
import { tableOf } from './output';

type Added = options.Explained & { entity: string; name: string; scopes: Scope[] };

export function fill(client: Command): void {
  const ofEntity = (name: string, words: string) =>
    command(client, name, words).requiredOption('--entity <entityId>', 'the party');
  const one = (name: string, words: string) =>
    command(client, name, words).argument('<clientId>').addOption(options.reasonOption());

  const named = options.parsedOption('--name <name>', 'the system that uses it', (given) =>
    parseText(given, NAME_MAX),
  );
  const scoped = options.parsedOption(
    '--scopes <scopes>',
    `what the system does: some of ${SCOPES.join(',')}`,
    (given) => parseScopes(given.split(',')),
  );
  ofEntity('add', 'give a party one more client; its secret is shown once')
    .addOption(named.makeOptionMandatory())
    .addOption(scoped.makeOptionMandatory())
    .addOption(options.reasonOption())
    .action(
      onEngine(async (db, _config, { entity: entityId, name, scopes, ...given }: Added) => {
        const by = options.operator(given);
        const made = await db.transaction((trx) => addClient(trx, by, { entityId, name, scopes }));
        if (made === undefined) throw unknownEntity();
        return shownOnce(made);
      }),
    );

  ofEntity('list', 'those of a party, oldest first').action(
    onEngine(async (db, _config, { entity }: Added) => {
      const clients = await listClients(db, entity);
      // The first came with it.
      if (clients.length === 0) throw unknownEntity();
      const table = clients.map((each) => [each.clientId, each.name, each.scopes.join(' '), each.disabled]);
      return { json: { clients }, text: tableOf(['clientId', 'name', 'scopes', 'disabled'], table) };
    }, requireRing),
  );

  one('rotate', 'make a new secret; the old one stays good for 24 h')
    .addOption(options.atOnceOption())
    .action(
      onEngine(async (db, _config, clientId: string, given: options.AtOnce) => {
        const found = await findClient(db, clientId);
        if (found === undefined) throw unknownClient();
        const by = options.operator(given);
        const endOld = given.now ?? false;
        const clientSecret = await db.transaction((trx) => rotateClientSecret(trx, by, found, { endOld }));
        return shownOnce({ ...found, clientSecret });
      }),
    );

  one('disable', 'end it for good, with its tokens').action(
    onEngine(async (db, _config, clientId: string, given: options.Explained) => {
      const ended = await db.transaction((trx) => disableClient(trx, options.operator(given), clientId));
      if (ended === undefined) throw unknownClient();
      // A process that has just looked takes its tokens for as long.
      await sleep(STANDING_TTL_MS);
      return { json: ended, text: `${clientId} is disabled for good; its tokens are refused` };
    }),
  );
}

const unknownClient = () => new OperatorError('there is no such client: see "assent client list"');
