import { Client } from 'pg';
import { eventually } from './engine';

/**
 * Stops a process of the engine in the middle of what it does, from outside: a trigger in the
 * test's own database waits for a lock that the test holds. Postgres itself then says that the step
 * was reached, and by whom.
 */
export interface DatabaseStep {
  on: 'INSERT' | 'UPDATE' | 'DELETE';
  table: string;
  /** SQL over NEW and OLD: which of the rows. */
  when?: string;
  /**
   * `row`: before the row is written, with whatever came before it in the transaction done.
   * `commit`: with everything done, also calls to Temporal, but the commit.
   */
  at: 'row' | 'commit';
}

export interface HeldStep {
  /**
   * Waits until a process is held at the step; returns its name.
   *
   * @throws Error where none comes in time
   */
  reached(): Promise<'api' | 'worker'>;
  /**
   * Ends what that process, which may be dead by now, left in Postgres: as if its last word had not
   * come through, or as if it had.
   */
  release(fate: 'undone' | 'committed'): Promise<void>;
}

/** Any number that no other advisory lock of the engine uses. */
const LOCK = 7_281_540;
/** Every step comes within seconds of the one before; a window of the tests is one of them. */
const REACHED_WITHIN_MS = 30_000;

/** @param url of the test's database, as its owner */
export async function holdAt(url: string, { on, table, when, at }: DatabaseStep): Promise<HeldStep> {
  const holder = new Client({ connectionString: url });
  await holder.connect();
  const trigger = at === 'row' ? 'TRIGGER' : 'CONSTRAINT TRIGGER';
  const timing = at === 'row' ? `BEFORE ${on} ON ${table}` : `AFTER ${on} ON ${table} INITIALLY DEFERRED`;
  await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
  await holder.query(`
    CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(${LOCK});
      RETURN coalesce(NEW, OLD);
    END $$;
    CREATE ${trigger} held_step ${timing} FOR EACH ROW ${when === undefined ? '' : `WHEN (${when})`}
      EXECUTE FUNCTION wait_here()`);

  const held = async () => {
    const { rows } = await holder.query<{ pid: number; name: 'api' | 'worker' }>(
      `SELECT a.pid, a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
       WHERE l.locktype = 'advisory' AND l.objid = ${LOCK} AND NOT l.granted AND a.datname = current_database()`,
    );
    return rows;
  };
  // A process that lives keeps its connection.
  const over = async (pids: number[]) => {
    const { rows } = await holder.query(
      `SELECT FROM pg_stat_activity WHERE pid = ANY($1) AND state <> 'idle'`,
      [pids],
    );
    return rows.length === 0;
  };

  return {
    async reached() {
      await eventually(async () => (await held()).length > 0, REACHED_WITHIN_MS);
      const [first, ...others] = await held();
      if (!first || others.length > 0)
        throw new Error(`${others.length + 1} are held where one was expected`);
      return first.name;
    },
    async release(fate) {
      const pids = (await held()).map(({ pid }) => pid);
      if (fate === 'undone')
        await holder.query(`SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid`, [pids]);
      await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
      await eventually(() => over(pids), REACHED_WITHIN_MS);
      await holder.query(`DROP TRIGGER held_step ON ${table}; DROP FUNCTION wait_here()`);
      await holder.end();
    },
  };
}
