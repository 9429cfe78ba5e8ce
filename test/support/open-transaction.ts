import { EventEmitter, once } from 'node:events';
import type { Database, Transaction } from '../../src/database/connection';

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
