import Table from 'cli-table3';
import { Argument, Option, type Command } from 'commander';
import { z } from 'zod';
import { createAccessTokens } from '../api/access-token';
import { email, id, NAME_MAX, text, webUrl } from '../api/fields';
import { check } from '../api/validation';
import { webhookUrl } from '../api/webhook-endpoint';
import type { Config } from '../config';
import { recordAct } from '../database/audit';
import { rotateClientSecret } from '../database/client-credential';
import { findEntity, listEntities } from '../database/entity';
import { admitEntity, changeStatus, changeTrust } from '../database/entity-control';
import { ROLES, TRUST_LEVELS, type TrustLevel } from '../domain/entity';
import { command, CommandError, onEngine } from './command';
import { operator, reasonOption, type Explained } from './operator';

/** Banks, merchants and providers: who takes part, and how each proves it. */
export function addEntityCommands(program: Command): void {
  const entity = program.command('entity').description('banks, merchants and providers');

  command(entity, 'create', 'make one; its secrets are shown once')
    .addOption(new Option('--type <type>').choices(ROLES).makeOptionMandatory())
    .requiredOption('--name <name>', 'as customers and banks know it')
    .option('--email <address>', 'contact address, shown to banks')
    .option('--website <url>')
    .option('--provider <providerId>', 'the provider that acts for this merchant')
    .option('--webhook-url <url>', 'where it wants its webhooks')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, config, options: Explained) => {
        const { provider: providerId, ...wanted } = newEntity(config, options);
        if (providerId !== undefined) {
          if (wanted.type !== 'merchant') {
            throw new CommandError('--provider: only a merchant has a provider');
          }
          const provider = await findEntity(db, providerId);
          if (provider?.type !== 'provider') throw new CommandError('--provider: there is no such provider');
        }
        const by = operator(options);
        const made = await db.transaction((trx) => admitEntity(trx, ring, by, { ...wanted, providerId }));
        if (made === undefined) throw new Error('an entity without clientRef collides with none');
        return {
          json: made,
          text: `${lines(made)}\nKeep the secrets now: they are not shown again.`,
        };
      }),
    );

  command(entity, 'list', 'all of them, oldest first').action(
    onEngine(async ({ db }) => {
      const entities = await listEntities(db);
      const head = ['entityId', 'type', 'name', 'status', 'trust', 'provider'];
      const table = new Table({ head, style: { head: [], border: [] } });
      for (const one of entities) {
        const trust = one.type === 'merchant' ? one.trustLevel : '';
        table.push([one.entityId, one.type, one.name, one.status, trust, one.providerId ?? '']);
      }
      return { json: { entities }, text: table.toString() };
    }),
  );

  for (const [name, status, description] of [
    [
      'disable',
      'disabled',
      'its tokens stop working within a minute; the schedules of a merchant are suspended',
    ],
    ['enable', 'active', 'let it in again; the schedules of a merchant go on'],
  ] as const) {
    command(entity, name, description)
      .argument('<entityId>')
      .addOption(reasonOption())
      .action(
        onEngine(async ({ db, ring }, _config, entityId: string, options: Explained) => {
          const by = operator(options);
          const set = await db.transaction((trx) => changeStatus(trx, ring, by, entityId, status));
          if (!set) throw unknownEntity();
          return { json: { entityId, status }, text: `${entityId} is ${status} now` };
        }),
      );
  }

  command(entity, 'trust', 'set whether customers may give a merchant standing approvals')
    .argument('<merchantId>')
    .addArgument(new Argument('<level>').choices(TRUST_LEVELS))
    .addOption(reasonOption())
    .action(
      onEngine(
        async ({ db, ring }, _config, merchantId: string, trustLevel: TrustLevel, options: Explained) => {
          const by = operator(options);
          const set = await db.transaction((trx) => changeTrust(trx, ring, by, { merchantId, trustLevel }));
          if (!set) throw new CommandError('there is no such merchant');
          return { json: { merchantId, trustLevel }, text: `${merchantId} is ${trustLevel} now` };
        },
      ),
    );

  command(entity, 'rotate-secret', 'make a new client secret; the old one stays good for 24 h')
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, _config, entityId: string, options: Explained) => {
        const by = operator(options);
        const rotated = await db.transaction((trx) => rotateClientSecret(trx, by, entityId));
        if (rotated === undefined) throw unknownEntity();
        const json = { entityId, ...rotated };
        return { json, text: `${lines(json)}\nKeep the secret now: it is not shown again.` };
      }),
    );

  command(program, 'token', 'issue an access token')
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, config, entityId: string, options: Explained) => {
        const by = operator(options);
        const found = await findEntity(db, entityId);
        if (found === undefined) throw unknownEntity();
        if (found.status !== 'active') throw new CommandError('this entity is disabled');
        const tokens = createAccessTokens({ db, ring, config });
        const { token, tokenId, expiresInS } = await tokens.issue(entityId, found.type);
        // Nobody has the token before its record is there.
        await db.transaction((trx) =>
          recordAct(trx, by, {
            action: 'token.issued',
            entityId,
            before: null,
            after: { tokenId, expiresInS },
          }),
        );
        const json = { access_token: token, token_type: 'Bearer', expires_in: expiresInS };
        return { json, text: token };
      }),
    );
}

/** The options of `entity create`, judged as the API judges the same fields. */
function newEntity(config: Config, options: Explained) {
  const schema = z.object({
    type: z.enum(ROLES),
    name: text(NAME_MAX),
    email: email.optional(),
    website: webUrl(['https', 'http']).optional(),
    provider: id('provider').optional(),
    webhookUrl: webhookUrl(config).optional(),
  });
  const checked = check(schema, options, '');
  if (checked.problems === undefined) return checked.value;
  throw new CommandError(
    checked.problems
      .map(({ path, message }) => `--${path.replace('webhookUrl', 'webhook-url')} ${message}`)
      .join('\n'),
  );
}

export function unknownEntity(): CommandError {
  return new CommandError('there is no such entity: see "assent entity list"');
}

function lines(fields: object): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(15)}${String(value)}`)
    .join('\n');
}
