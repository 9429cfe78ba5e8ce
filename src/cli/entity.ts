import { Argument, Option, type Command } from 'commander';
import type { Config } from '../settings/config';
import type { Actor } from '../database/record/audit-event';
import type { Database } from '../database/pool/connection';
import { listClients, rotateClientSecret } from '../database/entity/client-credential';
import {
  admitEntity,
  changeEndpoint,
  changeStatus,
  changeTrust,
  revokeTokens,
} from '../database/entity-control/control-entity';
import { findEntity, listEntities, type NewEntity } from '../database/entity/create-entity';
import { changeTwoPersonLimit, readTwoPersonLimit } from '../database/person-act/two-person-limit';
import { requireRing } from '../database/key-rotation/claim-keyring';
import {
  findWebhookUrl,
  newWebhookSecret,
  replaceWebhookSecret,
  rotateWebhookSecret,
} from '../database/webhook/change-endpoint';
import { parseEmail, parseWebUrl, webhookSchemes } from '../domain/contact';
import { ROLES, TRUST_LEVELS, type Role, type TrustLevel } from '../domain/entity';
import { OperatorError } from '../domain/failures';
import { inMoney, parseDecimalAmount } from '../domain/money';
import { NAME_MAX, parseText } from '../domain/plain-text';
import { shownLimit, type TwoPersonLimit } from '../domain/person-act';
import { letAttemptsEnd } from './attempts-under-way';
import { command, onEngine, shownOnce, unknownEntity, type Outcome } from './command';
import {
  accepted,
  atOnceOption,
  operator,
  parsedOption,
  reasonOption,
  type AtOnce,
  type Explained,
} from './options';
import { tableOf } from './output';

type Wanted = Explained & Omit<NewEntity, 'icon' | 'providerId' | 'clientRef'> & { provider?: string };

export function fill(entity: Command): void {
  command(entity, 'create', 'make one; its secrets are shown once')
    .addOption(new Option('--type <type>').choices(ROLES).makeOptionMandatory())
    .addOption(
      parsedOption('--name <name>', 'as customers and banks know it', (given) =>
        parseText(given, NAME_MAX),
      ).makeOptionMandatory(),
    )
    .addOption(parsedOption('--email <address>', 'contact address, shown to banks', parseEmail))
    .addOption(parsedOption('--website <url>', '', (given) => parseWebUrl(['https', 'http'], given)))
    .option('--provider <providerId>', 'the provider that acts for this merchant')
    .option('--webhook-url <url>', 'where it wants its webhooks')
    .addOption(reasonOption())
    .action(onEngine(create));

  command(entity, 'list', 'all of them, oldest first').action(onEngine(list, requireRing));

  const act = (name: string, words: string) =>
    command(entity, name, words).argument('<entityId>').addOption(reasonOption());

  act('disable', 'keep it out: tokens die within a minute, webhooks wait, schedules are suspended').action(
    changing(setStatus('disabled')),
  );
  act('enable', 'let it in again: it gets new tokens, its webhooks are sent, schedules go on').action(
    changing(setStatus('active')),
  );

  command(entity, 'trust', 'set whether customers may give a merchant standing approvals')
    .argument('<merchantId>')
    .addArgument(new Argument('<level>').choices(TRUST_LEVELS))
    .addOption(reasonOption())
    .action(onEngine(setTrust));

  act('rotate-secret', 'make a new secret of its first client; the old one stays good for 24 h')
    .addOption(atOnceOption())
    .action(changing(rotateSecret));

  act('revoke-tokens', 'end all access tokens that it has, within a minute').action(changing(endTokens));

  act('endpoint', 'show where its webhooks go; set it, or clear it')
    .addOption(new Option('--set <url>', 'send them there').conflicts('clear'))
    .option('--clear', 'send them nowhere')
    .action(onEngine(setEndpoint));

  act('two-person', 'show the limit above which an act in the console takes two persons; set it, or clear it')
    .addOption(
      new Option('--above <currency=amount...>', 'limits, as in NGN=100000 USD=100')
        .argParser(addLimit)
        .conflicts('clear'),
    )
    .option('--clear', 'let each person act alone')
    .action(onEngine(setTwoPersonLimit));

  act('rotate-webhook-secret', 'make a new webhook secret; the old one signs too for 24 h')
    .addOption(atOnceOption())
    .action(changing(renewWebhookSecret));
}

async function list(db: Database): Promise<Outcome> {
  const entities = await listEntities(db);
  const head = ['entityId', 'type', 'name', 'status', 'trust', 'provider'];
  const table = entities.map((one) => {
    const trust = one.type === 'merchant' ? one.trustLevel : null;
    return [one.entityId, one.type, one.name, one.status, trust, one.providerId];
  });
  return { json: { entities }, text: tableOf(head, table) };
}

/** Changes an entity; false or undefined where there is none. */
type Change = (
  db: Database,
  by: Actor,
  entityId: string,
  options: AtOnce,
) => Promise<Outcome | false | undefined>;

/** The action of a change, by an operator who is named in its audit event. */
const changing = (change: Change) =>
  onEngine(async (db, _config, entityId: string, options: AtOnce) => {
    const outcome = await change(db, operator(options), entityId, options);
    if (!outcome) throw unknownEntity();
    return outcome;
  });

const setStatus =
  (status: 'disabled' | 'active'): Change =>
  async (db, by, entityId) => {
    const set = await db.transaction((trx) => changeStatus(trx, by, entityId, status));
    if (set && status === 'disabled') await letAttemptsEnd(db, entityId);
    return set && { json: { entityId, status }, text: `${entityId} is ${status} now` };
  };

async function setTrust(
  db: Database,
  _config: Config,
  ...[merchantId, trustLevel, options]: [string, TrustLevel, Explained]
): Promise<Outcome> {
  const by = operator(options);
  const set = await db.transaction((trx) => changeTrust(trx, by, { merchantId, trustLevel }));
  if (!set) throw unknownEntity('merchant');
  return { json: { merchantId, trustLevel }, text: `${merchantId} is ${trustLevel} now` };
}

const rotateSecret: Change = async (db, by, entityId, { now: endOld = false }) => {
  const [first] = await listClients(db, entityId);
  if (first === undefined) return undefined;
  const clientSecret = await db.transaction((trx) => rotateClientSecret(trx, by, first, { endOld }));
  return shownOnce({ entityId, clientId: first.clientId, clientSecret });
};

const endTokens: Change = async (db, by, entityId) => {
  const revoked = await db.transaction((trx) => revokeTokens(trx, by, entityId));
  const text = `The tokens of ${entityId} are refused by every process within a minute; it may get new ones`;
  return revoked && { json: { entityId, tokensRevoked: true }, text };
};

async function setEndpoint(
  db: Database,
  config: Config,
  entityId: string,
  { set, clear, ...options }: Explained & { set?: string; clear?: boolean },
): Promise<Outcome> {
  const url = clear ? null : set && webhookUrl(config, '--set', set);
  if (url === undefined) {
    if ((await findEntity(db, entityId)) === undefined) throw unknownEntity();
  } else {
    const by = operator(options);
    if (!(await db.transaction((trx) => changeEndpoint(trx, by, entityId, url)))) throw unknownEntity();
    await letAttemptsEnd(db, entityId);
  }
  const json = { entityId, url: await findWebhookUrl(db, entityId) };
  return { json, text: json.url ?? `${entityId} takes no webhooks` };
}

function addLimit(given: string, before: TwoPersonLimit = new Map()): TwoPersonLimit {
  const [currency = '', amount = ''] = given.split('=', 2);
  return new Map(before).set(currency, accepted('--above', parseDecimalAmount(amount, currency)));
}

async function setTwoPersonLimit(
  db: Database,
  _config: Config,
  entityId: string,
  { above, clear, ...options }: Explained & { above?: TwoPersonLimit; clear?: boolean },
): Promise<Outcome> {
  const limit = clear ? new Map<string, bigint>() : above;
  const by = operator(options);
  if (limit && !(await db.transaction((trx) => changeTwoPersonLimit(trx, by, entityId, limit))))
    throw unknownEntity();
  const now = await readTwoPersonLimit(db, entityId);
  if (now === undefined) throw unknownEntity();
  const words = [...now].map(([currency, amount]) => `above ${inMoney({ amount, currency })}`);
  const text = words.length > 0 ? `A second person approves ${words.join(', ')}` : 'Each person acts alone';
  return { json: { entityId, twoPersonAbove: shownLimit(now) }, text };
}

const renewWebhookSecret: Change = async (db, by, entityId, { now = false }) => {
  if ((await findEntity(db, entityId)) === undefined) return undefined;
  const webhookSecret = newWebhookSecret();
  const rotate = now ? replaceWebhookSecret : rotateWebhookSecret;
  const previousSecretValidUntil = await db.transaction((trx) => rotate(trx, by, entityId, webhookSecret));
  if (now) await letAttemptsEnd(db, entityId);
  const { text } = shownOnce({ entityId, webhookSecret });
  return { json: { entityId, webhookSecret, previousSecretValidUntil }, text };
};

async function create(db: Database, config: Config, options: Wanted): Promise<Outcome> {
  const { reason: _, provider: providerId, webhookUrl: url, ...wanted } = options;
  if (providerId !== undefined) await requireProvider(db, wanted.type, providerId);
  const entity = {
    ...wanted,
    providerId,
    webhookUrl: url === undefined ? undefined : webhookUrl(config, '--webhook-url', url),
  };
  const made = await db.transaction((trx) => admitEntity(trx, operator(options), entity));
  if (made === undefined) throw new Error('an entity without clientRef collides with none');
  return shownOnce(made);
}

async function requireProvider(db: Database, type: Role, providerId: string): Promise<void> {
  if (type !== 'merchant') throw new OperatorError('--provider: only a merchant has a provider');
  const provider = await findEntity(db, providerId);
  if (provider?.type !== 'provider')
    throw new OperatorError('--provider: there is no such provider: see "assent entity list"');
}

const webhookUrl = ({ ALLOW_PRIVATE_WEBHOOKS }: Config, option: string, given: string) =>
  accepted(option, parseWebUrl(webhookSchemes(ALLOW_PRIVATE_WEBHOOKS), given));
