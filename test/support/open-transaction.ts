import { EventEmitter, once } from 'node:events';
import type { Database, Transaction } from '../../src/database/pool/connection';
import { eventually } from './engine';

export interface OpenTransaction {
  trx: Transaction;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** A transaction that stays open until the test ends it. */
export async function openTransaction(db: Database): Promise<OpenTransaction> {
  const undo = new Error('rolled back by the test');
  const ends = new EventEmitter();
  const ending = once(ends, 'commit');
  let ended: Promise<unknown> = ending;
  const trx = await new Promise<Transaction>((begun, failed) => {
    ended = db.transaction((one) => {
      begun(one);
      return ending;
    });
    ended.catch(failed);
  });
  return {
    trx,
    async commit() {
      ends.emit('commit');
      await ended;
    },
    async rollback() {
      ends.emit('error', undo);
      await ended.catch((error: unknown) => {
        if (error !== undo) throw error;
      });
    },
  };
}

/** What the work returns, all of which is undone. */
export async function undone<Result>(
  db: Database,
  work: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  const open = await openTransaction(db);
  return work(open.trx).finally(() => open.rollback());
}

/** Until one statement of this database waits for another's transaction. */
export async function waitsForALock(db: Database): Promise<void> {
  await eventually(async () => {
    const waiting = await db.row`
      SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE NOT l.granted AND a.datname = current_database() LIMIT 1`;
    return waiting !== undefined;
  });
}
