import { Context } from '@temporalio/activity';
import { deleteCounted } from '../database/bank-file/open-differences';
import { deleteAbandonedPages } from '../database/bank-file/receive-bank-file';
import { expireKeys } from '../database/call/idempotency';
import { deleteFullBuckets } from '../database/call/rate-limit';
import { forgetPrompts } from '../database/customer/limit-prompts';
import { deleteAbandoned } from '../database/customer/migrate-customers';
import { forgetEndedSessions } from '../database/entity/console-session';
import { recordSwept } from '../database/engine/temporal-state';
import { foldBalances } from '../database/ledger/fold-balances';
import { forgetActs } from '../database/person-act/person-act';
import type { Database } from '../database/pool/connection';
import { forgetRetiredSecrets } from '../database/webhook/change-endpoint';
import { forgetDeliveries } from '../database/webhook/delete-old-deliveries';
import type { Swept } from '../domain/workflow/messages';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

/** Longest for a kind, so that all ten have had theirs before the next run. */
const SWEEP_MS = 5_000;
/** Batches of a kind in a run: more than a minute brings. */
const BATCHES = 60;

export function createSweepActivities(db: Database, webhookKeptDays: number) {
  /** Each deletes a batch. It says whether there may be more, or the row to go on after. */
  const batchOf: Record<Swept, (after?: string) => Promise<boolean | string>> = {
    'idempotency keys': () => expireKeys(db),
    'token buckets': () => deleteFullBuckets(db),
    prompts: () => forgetPrompts(db),
    'batches of customers': () => deleteAbandoned(db),
    'pages of bank files': () => deleteAbandonedPages(db),
    'counted differences': () => deleteCounted(db),
    // A kind of its own would change the workflow's commands.
    'console sessions': async () => (await forgetEndedSessions(db)) || forgetActs(db),
    webhooks: (after) => forgetDeliveries(db, webhookKeptDays, after),
    'retired secrets': () => forgetRetiredSecrets(db).then(() => false),
    'changes of balances': () => foldBalances(db),
  };
  return {
    /** @returns whether more of the kind may be left */
    async sweepAway(kind: Swept): Promise<boolean> {
      const { cancellationSignal } = Context.current();
      const until = performance.now() + SWEEP_MS;
      let more: boolean | string = true;
      for (let batch = 0; more !== false && batch < BATCHES && performance.now() < until; batch++) {
        cancellationSignal.throwIfAborted();
        more = await batchOf[kind](typeof more === 'string' ? more : undefined);
      }
      await recordSwept(db, kind);
      return more !== false;
    },
  };
}
