import type { Command } from 'commander';
import { readAuditEvents, type RecordedAuditEvent } from '../database/record/audit-event';
import { findEntity } from '../database/entity/create-entity';
import { counted } from '../domain/words/counted';
import { onEngine, takingJson, unknownEntity } from './command';
import { anyRing } from './engine';
import { momentOption } from './options';
import { progress, tableOf, write } from './output';

/** Most rows of a table, which is laid out whole. `--json` writes page by page, without an end. */
const TABLE_ROWS_MAX = 1_000;

const COLUMNS = [
  'at',
  'actor',
  'action',
  'entityId',
  'before',
  'after',
  'reason',
  'requestId',
  'ownRequestId',
] as const;

interface Filter {
  entity?: string;
  since?: Date;
  json?: boolean;
}

/** `assent audit`: shows the audit events. */
export function fill(audit: Command): void {
  takingJson(audit)
    .option('--entity <id>', 'only what this entity did, or what was done to it')
    .addOption(momentOption('--since <time>', 'only from then on'))
    .action(
      onEngine(async ({ db }, _config, { entity, since, json = false }: Filter) => {
        if (entity !== undefined && !(await findEntity(db, entity))) throw unknownEntity();
        const events = readAuditEvents(db, { entityId: entity, since });
        await (json ? writeJson(events) : writeTable(events));
      }, anyRing),
    );
}

async function writeJson(pages: AsyncIterable<RecordedAuditEvent[]>): Promise<void> {
  await write('{"events":[');
  let separator = '';
  for await (const page of pages) {
    for (const event of page) {
      const shown = Object.fromEntries(COLUMNS.map((name) => [name, event[name]]));
      await write(separator + JSON.stringify(shown));
      separator = ',';
    }
  }
  await write(']}\n');
}

async function writeTable(pages: AsyncIterable<RecordedAuditEvent[]>): Promise<void> {
  let latest: RecordedAuditEvent[] = [];
  let read = 0;
  for await (const page of pages) {
    read += page.length;
    progress.say(`${counted(read, 'events')} read`);
    latest = [...latest, ...page].slice(-TABLE_ROWS_MAX);
  }
  progress.end();
  const table = latest.map((event) => COLUMNS.map((name) => cellOf(event[name])));
  await write(`${tableOf([...COLUMNS], table)}\n`);
  if (read > TABLE_ROWS_MAX) {
    process.stderr.write(
      `These are the latest ${TABLE_ROWS_MAX}: narrow it with --since, or have all with --json.\n`,
    );
  }
}

/** One event may name two hundred workflows; all rows of a table are as wide as its widest. */
const CELL_MAX = 500;

function cellOf(value: string | Date | object | null | undefined): string | Date | null | undefined {
  if (!value || typeof value === 'string' || value instanceof Date) return value;
  const text = JSON.stringify(value);
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX)}…` : text;
}
