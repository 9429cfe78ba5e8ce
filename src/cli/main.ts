import Table from 'cli-table3';
import { Argument, Command, Option } from 'commander';
import { z } from 'zod';
import { createAccessTokens } from '../api/access-token';
import { email, id, NAME_MAX, text, webUrl } from '../api/fields';
import { check } from '../api/validation';
import { webhookUrl } from '../api/webhook-endpoint';
import type { Config } from '../config';
import { rotateClientSecret } from '../database/client-credential';
import { createEntity, findEntity, listEntities, setEntityStatus, setEntityTrust } from '../database/entity';
import { migrateUp } from '../database/migrate';
import { syncSchedulesWithMerchant } from '../database/recurring';
import { rotateSigningKey } from '../database/signing-key';
import { ROLES, TRUST_LEVELS, type TrustLevel } from '../domain/entity';
import { prepareGivenNamespace } from '../start/temporal';
import { command, CommandError, explained, onEngine, telling } from './command';
import { ownerUrl } from './engine';

/**
 * `npx assent`: what an operator does by hand. With `--json` a command prints one object on standard output
 * and nothing else; what goes wrong is told on standard error, with exit code 1.
 */

const program = new Command('assent')
  .description('Operates an Assent engine: the one of DATABASE_URL and ASSENT_KEYS, or of npm start here')
  .showHelpAfterError('(add --help for what there is)');
const entity = program.command('entity').description('banks, merchants and providers');

command(entity, 'create', 'make one; its secrets are shown once')
  .addOption(new Option('--type <type>').choices(ROLES).makeOptionMandatory())
  .requiredOption('--name <name>', 'as customers and banks know it')
  .option('--email <address>', 'contact address, shown to banks')
  .option('--website <url>')
  .option('--provider <providerId>', 'the provider that acts for this merchant')
  .option('--webhook-url <url>', 'where it wants its webhooks')
  .action(
    onEngine(async ({ db, ring }, config, options: object) => {
      const { provider: providerId, ...wanted } = newEntity(config, options);
      if (providerId !== undefined) {
        if (wanted.type !== 'merchant') throw new CommandError('--provider: only a merchant has a provider');
        const provider = await findEntity(db, providerId);
        if (provider?.type !== 'provider') throw new CommandError('--provider: there is no such provider');
      }
      const made = await db.transaction((trx) => createEntity(trx, ring, { ...wanted, providerId }));
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
    .action(
      onEngine(async ({ db, ring }, _config, entityId: string) => {
        const set = await db.transaction(async (trx) => {
          const found = await setEntityStatus(trx, entityId, status);
          if (found) await syncSchedulesWithMerchant(trx, ring, entityId, 'operator');
          return found;
        });
        if (!set) throw unknownEntity();
        return { json: { entityId, status }, text: `${entityId} is ${status} now` };
      }),
    );
}

command(entity, 'trust', 'set whether customers may give a merchant standing approvals')
  .argument('<merchantId>')
  .addArgument(new Argument('<level>').choices(TRUST_LEVELS))
  .action(
    onEngine(async ({ db, ring }, _config, merchantId: string, trustLevel: TrustLevel) => {
      const set = await db.transaction(async (trx) => {
        const found = await setEntityTrust(trx, merchantId, trustLevel);
        if (found) await syncSchedulesWithMerchant(trx, ring, merchantId, 'operator');
        return found;
      });
      if (!set) throw new CommandError('there is no such merchant');
      return { json: { merchantId, trustLevel }, text: `${merchantId} is ${trustLevel} now` };
    }),
  );

command(entity, 'rotate-secret', 'make a new client secret; the old one stays good for 24 h')
  .argument('<entityId>')
  .action(
    onEngine(async ({ db }, _config, entityId: string) => {
      const rotated = await rotateClientSecret(db, entityId);
      if (rotated === undefined) throw unknownEntity();
      const json = { entityId, ...rotated };
      return { json, text: `${lines(json)}\nKeep the secret now: it is not shown again.` };
    }),
  );

command(program, 'token', 'issue an access token')
  .argument('<entityId>')
  .action(
    onEngine(async ({ db, ring }, config, entityId: string) => {
      const found = await findEntity(db, entityId);
      if (found === undefined) throw unknownEntity();
      if (found.status !== 'active') throw new CommandError('this entity is disabled');
      const { token, expiresInS } = await createAccessTokens({ db, ring, config }).issue(
        entityId,
        found.type,
      );
      return { json: { access_token: token, token_type: 'Bearer', expires_in: expiresInS }, text: token };
    }),
  );

const keys = program.command('keys').description('the keys that sign access tokens');
command(keys, 'rotate', 'sign with a new key from now on; tokens of the old one stay good').action(
  onEngine(async ({ db, ring }) => {
    const kid = await rotateSigningKey(db, ring);
    return { json: { kid }, text: `Tokens are signed with ${kid} now` };
  }),
);

/** Longest that `migrate` waits for Temporal, which may be starting beside it. */
const NAMESPACE_WITHIN_MS = 15_000;

command(program, 'migrate', 'bring the database schema, and the Temporal namespace, up to date').action(
  telling(async (config) => {
    const migrations = await migrateUp(ownerUrl(config));
    // The embedded Temporal has been prepared by `npm start`; any other one by nobody but this.
    if (config.TEMPORAL_ADDRESS !== undefined) {
      const { TEMPORAL_ADDRESS } = config;
      await prepareGivenNamespace({ ...config, TEMPORAL_ADDRESS }, NAMESPACE_WITHIN_MS);
    }
    const done = migrations.length === 0 ? 'The schema is up to date' : `Applied ${migrations.join(', ')}`;
    return { json: { migrations }, text: done };
  }),
);

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`assent: ${explained(error)}\n`);
  process.exitCode = 1;
});

/** The options of `entity create`, judged as the API judges the same fields. */
function newEntity(config: Config, options: object) {
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

function unknownEntity(): CommandError {
  return new CommandError('there is no such entity: see "assent entity list"');
}

function lines(fields: object): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(15)}${String(value)}`)
    .join('\n');
}
