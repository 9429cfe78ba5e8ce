import { Client } from 'pg';
import { asSchemaLogin } from './database';
import { eventually } from './engine';

/**
 * Stops a process of the engine in the middle of what it does, from outside: a trigger in the
 * test's own database waits for a lock that the test holds. Postgres itself then says that the step
 * was reached, and by which process.
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
  /** The name of the process that is held at the step now. */
  holds(): Promise<'api' | 'worker' | undefined>;
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

/** Any numbers from here on that no other advisory lock of the engine uses. */
const LOCK = 7_281_540;
/** Every step comes within seconds of the one before; a window of the tests is one of them. */
const REACHED_WITHIN_MS = 30_000;

/** @param url of the test's database, as its owner */
export async function holdAt(url: string, step: DatabaseStep): Promise<HeldStep> {
  const [held] = await holdAtEach(url, [step]);
  if (!held) throw new Error('a step was given');
  return held;
}

/** The same for several steps, at each of which something else is held. */
export async function holdAtEach(url: string, steps: DatabaseStep[]): Promise<HeldStep[]> {
  await asSchemaLogin(
    url,
    `CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       PERFORM pg_advisory_xact_lock(TG_ARGV[0]::bigint);
       RETURN coalesce(NEW, OLD);
     END $$`,
  );
  let armed = steps.length;
  const disarm = async () => {
    // One by one: each waits for its table alone.
    for (const [i, { table }] of steps.entries())
      await asSchemaLogin(url, `DROP TRIGGER held_step_${i} ON ${table}`);
    await asSchemaLogin(url, 'DROP FUNCTION wait_here()');
  };
  return Promise.all(
    steps.map((step, i) =>
      hold(url, step, i, async () => {
        if (--armed === 0) await disarm();
      }),
    ),
  );
}

async function hold(
  url: string,
  { on, table, when, at }: DatabaseStep,
  n: number,
  over: () => Promise<void>,
): Promise<HeldStep> {
  const lock = LOCK + n;
  const holder = new Client({ connectionString: url });
  await holder.connect();
  const trigger = at === 'row' ? 'TRIGGER' : 'CONSTRAINT TRIGGER';
  const timing = at === 'row' ? `BEFORE ${on} ON ${table}` : `AFTER ${on} ON ${table} INITIALLY DEFERRED`;
  await holder.query(`SELECT pg_advisory_lock(${lock})`);
  await holder.query(
    `CREATE ${trigger} held_step_${n} ${timing} FOR EACH ROW ${when === undefined ? '' : `WHEN (${when})`}
     EXECUTE FUNCTION wait_here(${lock})`,
  );

  const held = async () => {
    const { rows } = await holder.query<{ pid: number; name: 'api' | 'worker' }>(
      `SELECT a.pid, a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
       WHERE l.locktype = 'advisory' AND l.objid = ${lock} AND NOT l.granted AND a.datname = current_database()`,
    );
    return rows;
  };
  const holds = async () => (await held())[0]?.name;
  // A process that lives keeps its connection.
  const areIdle = async (pids: number[]) => {
    const { rows } = await holder.query(
      `SELECT FROM pg_stat_activity WHERE pid = ANY($1) AND state <> 'idle'`,
      [pids],
    );
    return rows.length === 0;
  };
  return {
    holds,
    async reached() {
      let name: 'api' | 'worker' | undefined;
      await eventually(async () => (name = await holds()) !== undefined, REACHED_WITHIN_MS);
      return name ?? 'worker';
    },
    async release(fate) {
      const pids = (await held()).map(({ pid }) => pid);
      if (fate === 'undone')
        await holder.query(`SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid`, [pids]);
      await holder.query(`SELECT pg_advisory_unlock(${lock})`);
      await eventually(() => areIdle(pids), REACHED_WITHIN_MS);
      await holder.end();
      await over();
    },
  };
}
