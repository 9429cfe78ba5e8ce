import type { Command } from 'commander';
import { counted } from '../domain/words/counted';
import { readActs, type RecordedAct } from '../database/audit';
import { findEntity } from '../database/entity/entity';
import { command, onEngineWriting, unknownEntity } from './command';
import { moment } from './moment';
import { progress } from './progress';
import { write } from './standard-output';
import { tableOf } from './table';

/**
 * Most rows of a table: it is laid out whole, and nobody reads more of them. `--json` writes each
 * page as it comes, so it has no end but the record's.
 */
const TABLE_ROWS_MAX = 1_000;

interface Filter {
  entity?: string;
  since?: string;
  json?: boolean;
}

/** `assent audit`: shows the record of privileged acts. */
export function addAuditCommand(program: Command): void {
  command(program, 'audit', 'who created, disabled, trusted, rotated, revoked and changed what, oldest first')
    .option('--entity <id>', 'only what this entity did, or what was done to it')
    .option('--since <time>', 'only from then on, as in 2026-01-31T09:00:00Z')
    .action(
      onEngineWriting(async ({ db }, _config, { entity, since, json = false }: Filter) => {
        if (entity !== undefined && !(await findEntity(db, entity))) throw unknownEntity();
        const acts = readActs(db, {
          entityId: entity,
          since: since === undefined ? undefined : moment('--since', since),
        });
        await (json ? writeJson(acts) : writeTable(acts));
      }),
    );
}

async function writeJson(pages: AsyncIterable<RecordedAct[]>): Promise<void> {
  await write('{"events":[');
  let separator = '';
  let written = 0;
  for await (const page of pages) {
    if (page.length === 0) continue;
    await write(separator + page.map((act) => JSON.stringify(shown(act))).join(','));
    separator = ',';
    written += page.length;
    // Where it goes into a file.
    if (!process.stdout.isTTY) progress.say(`${counted(written, 'acts')} written`);
  }
  await write(']}\n');
}

function shown({ at, actor, action, entityId, requestId, ownRequestId, reason, before, after }: RecordedAct) {
  return { at, actor, action, entityId, requestId, ownRequestId, reason, before, after };
}

async function writeTable(pages: AsyncIterable<RecordedAct[]>): Promise<void> {
  let latest: RecordedAct[] = [];
  let earlier = false;
  let read = 0;
  for await (const page of pages) {
    read += page.length;
    progress.say(`${counted(read, 'acts')} read`);
    earlier ||= latest.length + page.length > TABLE_ROWS_MAX;
    latest = [...latest, ...page].slice(-TABLE_ROWS_MAX);
  }
  const head = [
    'at',
    'actor',
    'action',
    'entityId',
    'before',
    'after',
    'reason',
    'requestId',
    'ownRequestId',
  ];
  const table = latest.map(
    ({ at, actor, action, entityId, before, after, reason, requestId, ownRequestId }) => [
      at,
      actor,
      action,
      entityId,
      cell(before),
      cell(after),
      reason,
      requestId,
      ownRequestId,
    ],
  );
  progress.end();
  await write(`${tableOf(head, table)}\n`);
  if (earlier) {
    process.stderr.write(
      `These are the latest ${TABLE_ROWS_MAX}: narrow it with --since, or have all with --json.\n`,
    );
  }
}

/** One act may name two hundred workflows; all rows of a table are as wide as its widest. */
const CELL_MAX = 500;

function cell(value: object | null | undefined): string | null {
  if (!value) return null;
  const text = JSON.stringify(value);
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX)}…` : text;
}
