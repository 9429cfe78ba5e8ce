import { createHash, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { Database, Transaction, EngineFacts } from '../../src/database/pool/connection';
import { STATEMENTS } from '../../src/database/pool/statement';

/** One statement's plan, as it ran. */
export interface Plan {
  statement: string;
  /** Names of large tables' indexes. */
  indexes: string[];
  /** Pages of 8 kB that it looked at, wherever they were. */
  buffers: number;
  faults: string[];
}

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Loops'?: number;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Node[];
}

/** Tables below this may be read whole. */
const LARGE_ROWS = 20_000;
/**
 * Rows that a scan may read in vain: twice as many as a list counts. More is much for what it
 * finds, unless that is a tenth.
 */
const FILTERED_MAX = 20_000;
/** Rows that a scan may read in all: ten times as many as a list counts. */
const READ_MAX = 100_000;

/**
 * Runs statements as the API and the worker do, prepared, with the rights of theirs, and collects
 * the plan of each and of those that it causes in turn.
 */
export class Explainer {
  private collected: Plan[] = [];

  private constructor(
    private readonly client: Client,
    private readonly large: Set<string>,
    private readonly facts: EngineFacts,
  ) {}

  static async open(url: string, facts: EngineFacts): Promise<Explainer> {
    const client = new Client({
      connectionString: url,
      // As `openDatabase` does: a prepared statement has one plan for all values.
      options: '-c role=assent_app -c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan',
    });
    await client.connect();
    const found = await client.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > $1`,
      [LARGE_ROWS],
    );
    const explainer = new Explainer(client, new Set(found.rows.map(({ name }) => name)), facts);
    client.on('notice', ({ message = '' }) => {
      const at = message.indexOf('plan:\n');
      if (at >= 0) explainer.take(JSON.parse(message.slice(at + 6)) as { 'Query Text': string; Plan: Node });
    });
    return explainer;
  }

  /** The plans of the second run: in the first, Postgres reads its catalogs as well. */
  async explained(work: (db: Database) => Promise<void>): Promise<Plan[]> {
    await undone(this.database(), work);
    this.collected = [];
    await undone(this.database(), work);
    return this.collected;
  }

  close(): Promise<void> {
    return this.client.end();
  }

  private database(): Database {
    const query = async (text: string, values: unknown[] = [], plan?: 'custom plan') => {
      if (values.length === 0) return this.client.query(text);
      if (!plan)
        return this.client.query({ name: createHash('md5').update(text).digest('hex'), text, values });
      const [, result] = await Promise.all([
        this.client.query('SET plan_cache_mode = force_custom_plan'),
        this.client.query(text, values),
        this.client.query('RESET plan_cache_mode'),
      ]);
      return result;
    };
    const { facts } = this;
    return {
      ...STATEMENTS,
      ...facts,
      // Here nobody waits.
      until: () => this.database(),
      on: () => this.database(),
      query,
      async transaction(work) {
        await query('BEGIN');
        try {
          const result = await work({
            ...STATEMENTS,
            ...facts,
            isTransaction: true,
            commitId: randomUUID(),
            query,
          });
          await query('COMMIT');
          return result;
        } catch (error) {
          await query('ROLLBACK');
          throw error;
        }
      },
      destroy: () => this.client.end(),
    };
  }

  private take({ 'Query Text': statement, Plan: plan }: { 'Query Text': string; Plan: Node }): void {
    const nodes = flat(plan);
    const faults = nodes.flatMap((node) => this.faultsOf(node));
    const indexes = nodes.flatMap((node) => node['Index Name'] ?? []);
    const buffers = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    this.collected.push({
      statement: statement.replaceAll(/\s+/g, ' '),
      indexes: [...new Set(indexes)],
      buffers,
      faults,
    });
  }

  private faultsOf(node: Node): string[] {
    const table = node['Relation Name'];
    const type = node['Node Type'];
    if (type === 'Seq Scan' && table !== undefined && this.large.has(table)) return [`reads all of ${table}`];
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const loops = node['Actual Loops'] ?? 1;
    const inVain = removed * loops;
    const found = (node['Actual Rows'] ?? 0) * loops;
    const where = `${type} on ${table ?? 'a result'}`;
    if (inVain > FILTERED_MAX && inVain > 9 * found) return [`${where} reads ${inVain} rows in vain`];
    return table !== undefined && inVain + found > READ_MAX ? [`${where} reads ${inVain + found} rows`] : [];
  }
}

function flat(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

class Undone extends Error {}

/** Runs the work in one transaction, which is undone: the next run finds everything as it was. */
export async function undone(db: Database, work: (db: Database) => Promise<void>): Promise<void> {
  try {
    await db.transaction(async (trx) => {
      await work(asDatabase(trx));
      throw new Undone();
    });
  } catch (error) {
    if (!(error instanceof Undone)) throw error;
  }
}

/** For verbs that open a transaction of their own: they work in this one. */
function asDatabase(trx: Transaction): Database {
  return {
    ...STATEMENTS,
    keyring: trx.keyring,
    timeZone: trx.timeZone,
    until: () => asDatabase(trx),
    on: () => asDatabase(trx),
    query: (text, values, plan) => trx.query(text, values, plan),
    transaction: (work) => work(trx),
    destroy: () => Promise.resolve(),
  };
}
