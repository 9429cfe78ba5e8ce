import type { Command } from 'commander';
import { readAuditEvents, type RecordedAuditEvent } from '../database/record/audit-event';
import { findEntity, entityNames } from '../database/entity/create-entity';
import { personEmails } from '../database/person/person';
import type { Executor } from '../database/pool/connection';
import { counted } from '../domain/words/counted';
import { onEngine, takingJson, unknownEntity } from './command';
import { anyRing } from './engine';
import { momentOption } from './options';
import { progress, write } from './output';

/** Most events that a person reads; they are held in memory. `--json` writes page by page. */
const SHOWN_MAX = 1_000;

export function fill(audit: Command): void {
  takingJson(audit)
    .option('--entity <id>', 'only what this entity did, or what was done to it')
    .addOption(momentOption('--since <time>', 'only from then on'))
    .action(
      onEngine(async (db, _config, options: { entity?: string; since?: Date; json?: boolean }) => {
        const { entity, since, json = false } = options;
        if (entity !== undefined && !(await findEntity(db, entity))) throw unknownEntity();
        const events = readAuditEvents(db, { entityId: entity, since });
        if (json) return writeJson(db, events);
        await writeInWords(db, events);
      }, anyRing),
    );
}

async function writeJson(db: Executor, pages: AsyncIterable<RecordedAuditEvent[]>): Promise<void> {
  await write('{"events":[');
  let separator = '';
  for await (const page of pages) {
    const emails = await personEmails(db, actorsOf(page));
    for (const { id: _, ...shown } of page) {
      const email = emails.get(shown.actor);
      await write(separator + JSON.stringify({ ...shown, ...(email !== undefined && { email }) }));
      separator = ',';
    }
  }
  await write(']}\n');
}

async function writeInWords(db: Executor, pages: AsyncIterable<RecordedAuditEvent[]>): Promise<void> {
  let latest: RecordedAuditEvent[] = [];
  let read = 0;
  for await (const page of pages) {
    read += page.length;
    progress.say(`${counted(read, 'events')} read`);
    latest = [...latest, ...page].slice(-SHOWN_MAX);
  }
  progress.end();
  const parties = latest.flatMap(({ actor, entityId }) => [actor, entityId ?? actor]);
  const names = new Map([
    ...(await entityNames(db, [...new Set(parties)])),
    ...(await personEmails(db, actorsOf(latest))),
  ]);
  await write(latest.map((event) => `${inWords(event, names)}\n`).join('\n'));
  if (read > SHOWN_MAX) {
    process.stderr.write(
      `These are the latest ${SHOWN_MAX}: narrow it with --since, or have all with --json.\n`,
    );
  }
}

const actorsOf = (events: RecordedAuditEvent[]) => [...new Set(events.map(({ actor }) => actor))];

/** One event may name two hundred workflows. */
const VALUE_MAX = 500;
/** Two columns less than a terminal's hundred: the values stand below their event. */
const LINE_MAX = 98;

/** A line of who did what and when, and below it the entity and the values. */
function inWords(event: RecordedAuditEvent, names: ReadonlyMap<string, string>): string {
  const { at, actor, action, entityId, before, after, reason, requestId } = event;
  const named = (id: string) => {
    const name = names.get(id);
    return name === undefined ? id : `${name} (${id})`;
  };
  const role = after && 'actorRole' in after ? `the ${String(after.actorRole)} ` : '';
  const below = [
    ['of', entityId !== actor && entityId !== null && named(entityId)],
    ['before', before && JSON.stringify(before).slice(0, VALUE_MAX)],
    ['after', after && JSON.stringify(after).slice(0, VALUE_MAX)],
    ['reason', reason],
    ['request', requestId],
  ].flatMap(([name, value]) => (value ? wrapped(`${name} ${value}`) : []));
  return [
    ...wrapped(`${at.toISOString()}  ${action}  by ${role}${named(actor)}`),
    ...below.map((line) => `  ${line}`),
  ].join('\n');
}

function wrapped(text: string): string[] {
  const lines = Math.ceil(text.length / LINE_MAX);
  return Array.from({ length: lines }, (_, n) => text.slice(n * LINE_MAX, (n + 1) * LINE_MAX));
}
