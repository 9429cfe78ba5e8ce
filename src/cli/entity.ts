import { Argument, Option, type Command } from 'commander';
import { z } from 'zod';
import { createAccessTokens } from '../api/access/access-token';
import { email, id, NAME_MAX, text, webUrl } from '../api/http/fields';
import { check } from '../api/http/validation';
import { webhookUrl } from '../api/webhook/webhook-schema';
import type { Config } from '../config';
import { recordAct } from '../database/audit';
import type { Database } from '../database/connection';
import { rotateClientSecret } from '../database/entity/client-credential';
import { findEntity, listEntities, readStanding } from '../database/entity/entity';
import {
  admitEntity,
  changeEndpoint,
  changeStatus,
  changeTrust,
  disableMerchantsMadeSince,
  revokeTokens,
} from '../database/entity/control';
import {
  findWebhookUrl,
  newWebhookSecret,
  replaceWebhookSecret,
  rotateWebhookSecret,
} from '../database/webhook/endpoint';
import { requireRing } from '../database/keys/sealing-key';
import { counted } from '../domain/words/counted';
import { ROLES, TRUST_LEVELS, type TrustLevel } from '../domain/entity';
import { letAttemptsEnd } from './attempts-under-way';
import { command, CommandError, onEngine, unknownEntity } from './command';
import { moment } from './moment';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';
import { tableOf } from './table';

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
          if (provider?.type !== 'provider') {
            throw new CommandError('--provider: there is no such provider: see "assent entity list"');
          }
        }
        const by = operator(options);
        const made = await db.transaction((trx) => admitEntity(trx, ring, by, { ...wanted, providerId }));
        if (made === undefined) throw new Error('an entity without clientRef collides with none');
        return {
          json: made,
          text: `${lines(made)}\n${SHOWN_ONCE}`,
        };
      }),
    );

  command(entity, 'list', 'all of them, oldest first').action(
    onEngine(async ({ db }) => {
      const entities = await listEntities(db);
      const head = ['entityId', 'type', 'name', 'status', 'trust', 'provider'];
      const table = entities.map((one) => {
        const trust = one.type === 'merchant' ? one.trustLevel : null;
        return [one.entityId, one.type, one.name, one.status, trust, one.providerId];
      });
      return { json: { entities }, text: tableOf(head, table) };
    }, requireRing),
  );

  command(
    entity,
    'disable',
    'keep it out: tokens die within a minute, webhooks wait, schedules are suspended',
  )
    .argument('<entityId>')
    .option(
      '--merchants-made-since <time>',
      'a provider, and the merchants that it has made from then on, as in 2026-01-31T09:00:00Z',
    )
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, entityId: string, options: DisableOptions) => {
        const by = operator(options);
        const since = await madeSince(db, entityId, options);
        const set = await db.transaction((trx) => changeStatus(trx, ring, by, entityId, 'disabled'));
        if (!set) throw unknownEntity();
        const status = 'disabled';
        if (since === undefined) {
          await letAttemptsEnd(db, entityId);
          return { json: { entityId, status }, text: `${entityId} is disabled now` };
        }
        const merchants: string[] = [];
        const failed: Failed[] = [];
        for await (const { merchantId, error } of disableMerchantsMadeSince(db, ring, by, entityId, since)) {
          if (error === undefined) merchants.push(merchantId);
          else failed.push({ merchantId, why: error.message });
          progress.say(`${counted(merchants.length, 'merchants')} disabled`);
        }
        for (const one of [entityId, ...merchants]) await letAttemptsEnd(db, one);
        if (failed.length > 0) process.exitCode = 1;
        const done = `${entityId} is disabled now, and so are ${counted(merchants.length, 'merchants')} that it made`;
        return {
          json: { entityId, status, merchants, failed },
          text: [done, ...leftIn(failed)].join('\n'),
        };
      }),
    );

  command(entity, 'enable', 'let it in again: it gets new tokens, its webhooks are sent, schedules go on')
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, entityId: string, options: Explained) => {
        const by = operator(options);
        const set = await db.transaction((trx) => changeStatus(trx, ring, by, entityId, 'active'));
        if (!set) throw unknownEntity();
        return { json: { entityId, status: 'active' }, text: `${entityId} is active now` };
      }),
    );

  command(entity, 'trust', 'set whether customers may give a merchant standing approvals')
    .argument('<merchantId>')
    .addArgument(new Argument('<level>').choices(TRUST_LEVELS))
    .addOption(reasonOption())
    .action(
      onEngine(
        async ({ db, ring }, _config, merchantId: string, trustLevel: TrustLevel, options: Explained) => {
          const by = operator(options);
          const set = await db.transaction((trx) => changeTrust(trx, ring, by, { merchantId, trustLevel }));
          if (!set) throw new CommandError('there is no such merchant: see "assent entity list"');
          return { json: { merchantId, trustLevel }, text: `${merchantId} is ${trustLevel} now` };
        },
      ),
    );

  command(entity, 'rotate-secret', 'make a new client secret; the old one stays good for 24 h')
    .argument('<entityId>')
    .addOption(atOnceOption())
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, entityId: string, options: AtOnce) => {
        const by = operator(options);
        const endOld = { endOld: options.now === true };
        const rotated = await db.transaction((trx) => rotateClientSecret(trx, ring, by, entityId, endOld));
        if (rotated === undefined) throw unknownEntity();
        const json = { entityId, ...rotated };
        return { json, text: `${lines(json)}\n${SHOWN_ONCE}` };
      }),
    );

  command(entity, 'revoke-tokens', 'end all access tokens that it has, within a minute')
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, _config, entityId: string, options: Explained) => {
        const by = operator(options);
        if (!(await db.transaction((trx) => revokeTokens(trx, by, entityId)))) throw unknownEntity();
        return {
          json: { entityId, tokensRevoked: true },
          text: `The tokens of ${entityId} are refused by every process within a minute; it may get new ones`,
        };
      }),
    );

  command(entity, 'endpoint', 'show where its webhooks go; set it, or clear it')
    .argument('<entityId>')
    .addOption(new Option('--set <url>', 'send them there').conflicts('clear'))
    .option('--clear', 'send them nowhere')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, config, entityId: string, options: EndpointOptions) => {
        const url = newUrl(config, options);
        if (url === undefined) {
          const found = await findEntity(db, entityId);
          if (found === undefined) throw unknownEntity();
        } else {
          const by = operator(options);
          const set = await db.transaction((trx) => changeEndpoint(trx, ring, by, entityId, url));
          if (!set) throw unknownEntity();
          await letAttemptsEnd(db, entityId);
        }
        const json = { entityId, url: await findWebhookUrl(db, entityId) };
        return { json, text: json.url ?? `${entityId} takes no webhooks` };
      }),
    );

  command(entity, 'rotate-webhook-secret', 'make a new webhook secret; the old one signs too for 24 h')
    .argument('<entityId>')
    .addOption(atOnceOption())
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, entityId: string, options: AtOnce) => {
        const by = operator(options);
        if ((await findEntity(db, entityId)) === undefined) throw unknownEntity();
        const secret = newWebhookSecret();
        const until = await db.transaction((trx) =>
          options.now === true
            ? replaceWebhookSecret(trx, ring, by, entityId, secret)
            : rotateWebhookSecret(trx, ring, by, entityId, secret),
        );
        if (options.now === true) await letAttemptsEnd(db, entityId);
        const json = { entityId, webhookSecret: secret, previousSecretValidUntil: until };
        return { json, text: `${lines({ entityId, webhookSecret: secret })}\n${SHOWN_ONCE}` };
      }),
    );

  command(program, 'token', 'issue an access token')
    .argument('<entityId>')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, config, entityId: string, options: Explained) => {
        const by = operator(options);
        const found = await readStanding(db, entityId);
        if (found === undefined) throw unknownEntity();
        if (!found.active) {
          throw new CommandError('this entity is disabled: "assent entity enable" lets it in again');
        }
        const tokens = createAccessTokens({ db, ring, config });
        const { token, tokenId, expiresInS } = await tokens.issue({ entityId, ...found });
        // Nobody has the token before its record is there.
        await db.transaction((trx) =>
          recordAct(trx, by, {
            action: 'token.issued',
            entityId,
            after: { tokenId, expiresInS },
          }),
        );
        const json = { access_token: token, token_type: 'Bearer', expires_in: expiresInS };
        return { json, text: token };
      }),
    );
}

const SHOWN_ONCE = 'Keep what is secret now: it is not shown again.';

interface DisableOptions extends Explained {
  merchantsMadeSince?: string;
}

/** A merchant that was to be disabled, and still is active. */
interface Failed {
  merchantId: string;
  why: string;
}

function leftIn(failed: Failed[]): string[] {
  if (failed.length === 0) return [];
  return [
    `NOT disabled: ${counted(failed.length, 'merchants')}. Give the command again, for these alone.`,
    ...failed.map(({ merchantId, why }) => `${merchantId}  ${why}`),
  ];
}

/** @throws CommandError for what is no moment, and for who makes no merchants */
async function madeSince(
  db: Database,
  entityId: string,
  { merchantsMadeSince: given }: DisableOptions,
): Promise<Date | undefined> {
  if (given === undefined) return undefined;
  const since = moment('--merchants-made-since', given);
  const found = await findEntity(db, entityId);
  if (found === undefined) throw unknownEntity();
  if (found.type !== 'provider')
    throw new CommandError('--merchants-made-since: only a provider makes merchants');
  return since;
}

interface AtOnce extends Explained {
  now?: boolean;
}

function atOnceOption(): Option {
  return new Option('--now', 'the old one is dead at once: for one that has leaked');
}

interface EndpointOptions extends Explained {
  set?: string;
  clear?: boolean;
}

/**
 * Undefined where it is not to be changed.
 *
 * @throws CommandError for one that the API would refuse
 */
function newUrl(config: Config, { set, clear }: EndpointOptions): string | null | undefined {
  if (clear === true) return null;
  if (set === undefined) return undefined;
  const checked = check(webhookUrl(config), set, '');
  if (checked.problems === undefined) return checked.value;
  throw new CommandError(`--set ${checked.problems[0]?.message}`);
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

function lines(fields: object): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(15)}${String(value)}`)
    .join('\n');
}
