import * as fc from 'fast-check';
import { cancelBillingRequest } from '../../../src/database/billing-request/cancel-billing-request';
import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { windowPassed as passedSql } from '../../../src/database/clock/window-passed';
import { answerIntent } from '../../../src/database/intent/answer-intent';
import type { Transaction } from '../../../src/database/pool/connection';
import { raw, sql } from '../../../src/database/pool/statement';
import { databaseOfFile } from '../../support/database';
import { undone } from '../../support/open-transaction';
import { askIntents, billBy } from '../../support/settled';
import { lookupIdOf, standingApproval, type Standing } from '../../support/standing';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';
import { closeExpiredIntent } from '../../../src/database/intent/end-intents';
import { windowPassed } from '../../../src/domain/window-passed';

/** The statements that end an intent or a charge, held to the rule that they decide by. */

const { db } = databaseOfFile();
/** No test clock is behind real time, and a charge by lookupID waits for 15 minutes. */
const TEN_MINUTES_MS = 600_000;

it('SQL and the rule agree about every moment, to the microsecond', async () => {
  const moments = fc.date({ min: new Date('1970-01-02'), max: new Date('9999-12-30'), noInvalidDate: true });
  // On both sides of a millisecond, which is all that the code reads of a moment.
  const apart = fc.oneof(fc.constantFrom(-1001, -1000, -999, -1, 0, 1, 999, 1000), fc.integer());
  await fc.assert(
    fc.asyncProperty(moments, apart, async (end, microseconds) => {
      const { now, passed } = await db.oneRow<{ now: Date; passed: boolean }>`
        SELECT now, ${passedSql(sql`now`)} AS passed
        FROM CAST(${end} AS timestamptz) AS expires_at,
          CAST(expires_at + ${microseconds} * interval '1 microsecond' AS timestamptz) AS now`;
      expect(passed).toBe(windowPassed(end.getTime(), now.getTime()));
    }),
    { numRuns: 300 },
  );
});

let standing: Standing & { lookupId: string };
let chargeId: string;
let intentId: string;
beforeAll(async () => {
  const approved = await standingApproval(db);
  standing = { ...approved, lookupId: await lookupIdOf(db, approved.customerId) };
  [{ id: chargeId } = { id: '' }] = await billBy(db, standing, ['lookupID']);
  [intentId = ''] = await askIntents(db, standing, [standing.lookupId]);
});

const statusOf = async (trx: Transaction, table: 'billing_requests' | 'intents', id: string) =>
  (await trx.oneRow<{ status: string }>`SELECT status FROM ${raw(table)} WHERE id = ${id}`).status;

type Act = [
  says: string,
  table: 'billing_requests' | 'intents',
  ends: (trx: Transaction) => Promise<boolean>,
];
const ACTS: Act[] = [
  [
    'a charge is declined',
    'billing_requests',
    async (trx) => {
      await closeExpiredRequests(trx, [chargeId]);
      return (await statusOf(trx, 'billing_requests', chargeId)) === 'declined';
    },
  ],
  [
    'a bank’s answer to a charge is refused',
    'billing_requests',
    async (trx) => {
      const answer = { outcome: 'approved', bankTransactionId: 'tx-1', action: null } as const;
      return !(await answerBillingRequest(trx, standing.bankId, chargeId, answer)).agreed;
    },
  ],
  [
    'a merchant’s cancellation is refused',
    'billing_requests',
    async (trx) => {
      const party = { entityId: standing.merchantId, role: 'merchant' } as const;
      return !(await cancelBillingRequest(trx, party, chargeId)).cancelled;
    },
  ],
  [
    'an intent is declined',
    'intents',
    async (trx) => {
      await closeExpiredIntent(trx, intentId);
      return (await statusOf(trx, 'intents', intentId)) === 'declined';
    },
  ],
  [
    'a bank’s answer to an intent is refused',
    'intents',
    async (trx) => {
      const terms = {
        customerDecision: 'approve_once',
        spendingLimits: undefined,
        blockMerchant: false,
      } as const;
      return !(await answerIntent(trx, standing.bankId, { ...standing, ...terms })).agreed;
    },
  ],
  [
    'an intent is declined, not superseded by the next one,',
    'intents',
    async (trx) => {
      await askIntents({ ...db, transaction: (work) => work(trx) }, standing, [standing.lookupId]);
      return (await statusOf(trx, 'intents', intentId)) === 'declined';
    },
  ],
];

it.each(ACTS)('%s exactly where the window has passed, by the merchant’s clock', async (_, table, ends) => {
  const id = table === 'intents' ? intentId : chargeId;
  const seen = new Set<boolean>();
  const aboutEnd = fc.oneof(
    fc.integer({ min: -30, max: 10 }),
    fc.integer({ min: -TEN_MINUTES_MS, max: TEN_MINUTES_MS }),
  );
  await fc.assert(
    fc.asyncProperty(aboutEnd, async (msAfter) => {
      const [before, isEnd, after] = await undone(db, async (trx) => {
        await trx.rows`
          UPDATE entities SET clock_offset =
            (SELECT expires_at FROM ${raw(table)} WHERE id = ${id}) + ${msAfter} * interval '1 millisecond'
            - clock_timestamp()
          WHERE id = ${standing.merchantId}`;
        const passed = async () => {
          const read = await trx.oneRow<{ now: Date; expiresAt: Date }>`
            SELECT business_now(${standing.merchantId}) AS now, expires_at FROM ${raw(table)} WHERE id = ${id}`;
          return windowPassed(read.expiresAt.getTime(), read.now.getTime());
        };
        return [await passed(), await ends(trx), await passed()];
      });
      // A window that ends meanwhile leaves open which of the two came first.
      fc.pre(before === after);
      expect(isEnd).toBe(before);
      seen.add(isEnd);
    }),
    { numRuns: 40 },
  );
  expect(seen).toEqual(new Set([true, false]));
});
