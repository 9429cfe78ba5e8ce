import { groupBy } from '../../src/domain/group';
import { onDatabase } from '../../src/database/pool/one-connection';
import type { Cast } from '../storm/cast';
import type { StormEngine } from '../storm/engine';
import { atTemporal } from '../storm/servers';

/** @returns what is not as it should be: each schedule has so many charges, each of them once */
export async function wrongCharges(
  { ownerUrl }: StormEngine,
  { banks, club }: Cast,
  billings: ReadonlyMap<string, number>,
): Promise<string[]> {
  const charges = await onDatabase(ownerUrl, async (client) => {
    const { rows } = await client.query<{ id: string; scheduleId: string; n: number; status: string }>(
      `SELECT id, schedule_id AS "scheduleId", billing_n AS n, status FROM billing_requests
       WHERE merchant_id = $1 AND schedule_id IS NOT NULL ORDER BY schedule_id, billing_n, attempt`,
      [club.entityId],
    );
    return rows;
  });
  const made = groupBy(charges, ({ scheduleId }) => scheduleId);
  const problems = [...billings].flatMap(([scheduleId, wanted]) => {
    const own = made.get(scheduleId) ?? [];
    const as = own.map(({ n, status }) => `${n} ${status}`).join(', ');
    const should = Array.from({ length: wanted }, (_, n) => `${n} successful`).join(', ');
    return as === should ? [] : [`${scheduleId} has ${as || 'no charge'}, and not ${should}`];
  });
  const debits = banks.flatMap(({ bank }) => bank.book.filter(({ state }) => state === 'standing'));
  const told = club.received.filter(({ type }) => type === 'billing.response');
  return [
    ...problems,
    ...differences(
      'debited by a bank',
      charges,
      debits.map(({ about }) => about),
    ),
    ...differences(
      'told to the merchant',
      charges,
      told.map(({ item }) => String(item['billingRequestId'])),
    ),
  ];
}

function differences(what: string, charges: readonly { id: string }[], seen: string[]): string[] {
  const counts = groupBy(seen, (id) => id);
  return charges.flatMap(({ id }) => {
    const times = counts.get(id)?.length ?? 0;
    return times === 1 ? [] : [`${id} was ${what} ${times} times`];
  });
}

/** How the workflows of schedules stand, and how many of them took the new step. */
export function workflowsOf(
  engine: StormEngine,
): Promise<{ running: number; replaced: number; changed: number }> {
  return atTemporal(engine, async (workflows) => {
    const seen = { running: 0, replaced: 0, changed: 0 };
    const query = `WorkflowType = 'recurring'`;
    for await (const { workflowId, runId, status } of workflows.list({ query })) {
      if (status.name === 'RUNNING') seen.running += 1;
      if (status.name === 'TERMINATED') seen.replaced += 1;
      const { events } = await workflows.getHandle(workflowId, runId).fetchHistory();
      if (events?.some((one) => one.markerRecordedEventAttributes?.markerName === 'core_patch'))
        seen.changed += 1;
    }
    return seen;
  });
}
