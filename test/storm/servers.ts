import { Client, Connection, type WorkflowClient } from '@temporalio/client';
import { onDatabase } from '../../src/database/pool/one-connection';
import type { StormEngine } from './engine';

/** The servers' own knowledge, asked straight, past proxies and engine. */
export interface ServersView {
  outbox: { workflowId: string; kind: string }[];
  running: string[];
  /** Ended otherwise than by doing their work. */
  broken: { workflowId: string; status: string }[];
  /** Exceptions, with each answer by itself. */
  exceptions: { about: string; bankTransactionId: string | null; open: boolean }[];
  open: { charges: number; intents: number; webhooks: number };
}

const WORKFLOWS_MAX = 20_000;

export async function lookAtServers(engine: StormEngine): Promise<ServersView> {
  const [rows, workflows] = await Promise.all([lookAtPostgres(engine), lookAtTemporal(engine)]);
  return { ...rows, ...workflows };
}

const lookAtPostgres = ({ ownerUrl }: StormEngine) =>
  onDatabase(ownerUrl, async (client) => {
    const read = async <Row>(text: string) => (await client.query(text)).rows as Row[];
    const [open] = await read<ServersView['open']>(
      `SELECT (SELECT count(*)::int FROM billing_requests WHERE status = 'pending') AS charges,
         (SELECT count(*)::int FROM intents WHERE status = 'pending') AS intents,
         (SELECT count(*)::int FROM webhook_deliveries WHERE status = 'pending') AS webhooks`,
    );
    return {
      outbox: await read<ServersView['outbox'][number]>(
        `SELECT workflow_id AS "workflowId", kind FROM outbox ORDER BY rank, id LIMIT 100`,
      ),
      exceptions: await read<ServersView['exceptions'][number]>(
        `SELECT coalesce(x.refund_id, x.billing_request_id) AS about,
           coalesce(a.bank_transaction_id, x.bank_transaction_id) AS "bankTransactionId",
           x.state <> 'resolved' AS open
         FROM reconciliation_exceptions x LEFT JOIN exception_answers a ON a.exception_id = x.id`,
      ),
      open: open ?? { charges: 0, intents: 0, webhooks: 0 },
    };
  });

const lookAtTemporal = (engine: StormEngine) =>
  atTemporal(engine, async (workflows) => {
    const list = async (query: string) => {
      const found: { workflowId: string; status: string }[] = [];
      for await (const { workflowId, status } of workflows.list({ query })) {
        if (found.length < WORKFLOWS_MAX) found.push({ workflowId, status: status.name });
      }
      return found;
    };
    return {
      running: (await list(`ExecutionStatus = 'Running'`)).map(({ workflowId }) => workflowId),
      broken: await list(`ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut', 'Canceled')`),
    };
  });

export async function atTemporal<Answer>(
  { temporalAddress, namespace }: StormEngine,
  ask: (workflows: WorkflowClient) => Promise<Answer>,
): Promise<Answer> {
  const connection = await Connection.connect({ address: temporalAddress, connectTimeout: 5_000 });
  try {
    return await ask(new Client({ connection, namespace }).workflow);
  } finally {
    await connection.close();
  }
}
