import { recordAuditEvent } from '../../src/database/record/audit-event';
import { openAgreements } from '../../src/database/agreement/agreement';
import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import type { Database, Executor } from '../../src/database/pool/connection';
import { onboardBatch } from '../../src/database/customer/migrate-customers';
import { applyDecision } from '../../src/database/decision/apply-decision';
import { authenticateClients, renewHash, type Claim } from '../../src/database/entity/client-credential';
import {
  createEntity,
  setEntityTrust,
  type EntityCredentials,
} from '../../src/database/entity/create-entity';
import { makePaymentId } from '../../src/database/agreement/payment-id';
import { decrypt } from '../../src/database/keyring/encrypt';
import { NO_LIMITS, type SpendingLimits } from '../../src/domain/spending-limit';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { createSchedule, type ScheduleTerms } from '../../src/database/schedule/create-schedule';
import { OPERATOR } from './operator';

/** A trusted merchant with the standing approval of a customer. */
export interface Standing {
  bankId: string;
  providerId: string;
  merchantId: string;
  customerId: string;
  agreementId: string;
  paymentId: string;
  /** How each of them gets a token. */
  credentials: Record<'bank' | 'provider' | 'merchant', EntityCredentials>;
}

/**
 * Rows only, without a webhook URL on either side: what is announced goes to the feed and is never
 * sent.
 */
export async function standingApproval(
  db: Database,
  terms: { currency?: string; limits?: Partial<SpendingLimits> } = {},
): Promise<Standing> {
  return db.transaction(async (trx) => {
    const bank = await createEntity(trx, { type: 'bank', name: 'Bank' });
    const provider = await createEntity(trx, { type: 'provider', name: 'Provider' });
    const merchant =
      provider &&
      (await createEntity(trx, {
        type: 'merchant',
        name: 'Merchant',
        providerId: provider.entityId,
      }));
    if (!bank || !provider || !merchant) throw new Error('the entities could not be made');
    const bankId = bank.entityId;
    const merchantId = merchant.entityId;
    await setEntityTrust(trx, merchantId, 'trusted');
    await recordAuditEvent(trx, OPERATOR, { action: 'entity.trust_set', entityId: merchantId });
    const { customers } = await onboardBatch(trx, bankId, [
      {
        person: {
          clientRef: 'c1',
          firstname: 'Ada',
          lastname: 'Obi',
          accountName: 'Ada Obi',
          email: 'ada@example.test',
          country: 'NG',
          accountNumber: '0123456789',
        },
      },
    ]);
    const [person] = customers;
    if (!person) throw new Error('the customer could not be made');
    const { customerId } = person;
    const currency = terms.currency ?? 'NGN';
    const [agreement] = await openAgreements(trx, merchantId, [{ customerId, bankId }], currency);
    if (!agreement) throw new Error('the agreement could not be made');
    await applyDecision(trx, agreement.id, {
      decision: 'approve_recurring',
      blocked: false,
      terms: { currency, limits: { ...NO_LIMITS, ...terms.limits } },
    });
    return {
      bankId,
      providerId: provider.entityId,
      merchantId,
      customerId,
      agreementId: agreement.id,
      paymentId: makePaymentId(db.keyring, agreement.paymentIdKey, agreement.id, merchantId),
      credentials: { bank, provider, merchant },
    };
  });
}

/**
 * Moves an owner's business time ahead, as a jump of the test clock does, without a signal to
 * anybody.
 */
export async function moveClock(db: Executor, billerId: string, by: string): Promise<void> {
  await db.rows`
    UPDATE entities SET clock_offset = clock_offset + ${by}::interval WHERE id = ${billerId}`;
}

/**
 * Lets it be noon of tomorrow by an owner's clock, so that no midnight of the network comes before
 * a test is over.
 *
 * @returns the day that it is then
 */
export async function toNoon(db: Database, billerId: string): Promise<string> {
  const moved = await db.row<{ day: string }>`
    UPDATE entities SET clock_offset =
      (noon.at AT TIME ZONE 'Africa/Lagos') - clock_timestamp()
    FROM (SELECT date_trunc('day',
      clock_timestamp() AT TIME ZONE 'Africa/Lagos') + interval '36 hours' AS at) AS noon
    WHERE id = ${billerId} RETURNING noon.at::date::text AS day`;
  return moved?.day ?? '';
}

/**
 * A schedule of 1 500 naira a month from now on, unless the terms say otherwise; its workflow is
 * not started.
 */
export async function makeSchedule(
  db: Database,
  { merchantId, customerId, paymentId }: Standing,
  terms: Partial<ScheduleTerms> = {},
): Promise<string> {
  return db.transaction(async (trx) => {
    const id = await createSchedule(
      trx,
      { entityId: merchantId, role: 'merchant' },
      {
        customerId,
        paymentId,
        amount: 150_000n,
        currency: 'NGN',
        frequency: 'monthly',
        interval: 1,
        startAt: undefined,
        endAt: undefined,
        maxBillings: undefined,
        description: undefined,
        metadata: {},
        ...terms,
      },
    );
    await trx.rows`DELETE FROM outbox WHERE workflow_id = ${workflowIds.recurring(id)}`;
    return id;
  });
}

/**
 * The bank's answer to whatever it has been asked for: approval, or its own reason to decline.
 *
 * @returns how many charges it answered
 */
export async function answerCharges(
  db: Database,
  { bankId }: Standing,
  declineReason?: string,
): Promise<number> {
  const asked = await db.rows<{ id: string }>`
    SELECT id FROM billing_requests WHERE bank_id = ${bankId} AND status = 'pending'`;
  for (const { id } of asked) {
    const answer =
      declineReason === undefined
        ? ({ outcome: 'approved', bankTransactionId: `tx-${id}`, action: null } as const)
        : ({ outcome: 'declined', declineReason, action: null } as const);
    await db.transaction((trx) => answerBillingRequest(trx, bankId, id, answer));
  }
  return asked.length;
}

/** A customer is found by it. */
export async function lookupIdOf(db: Executor, customerId: string): Promise<string> {
  const customer = await db.row<{
    lookupId: string;
  }>`SELECT lookup_id AS "lookupId" FROM customers WHERE id = ${customerId}`;
  if (!customer) throw new Error(`there is no customer ${customerId}`);
  return customer.lookupId;
}

/** The first item of a webhook, and the workflow that sends it. */
export interface Announced {
  type: string;
  item: Record<string, unknown>;
  workflowId: string;
}

/** Webhooks of a party, oldest first. */
export async function announcedTo(db: Database, entityId: string): Promise<Announced[]> {
  const deliveries = await db.rows<{ id: string; type: string; body: Buffer; workflowId: string }>`
    SELECT id, webhook_type AS type, body_encrypted AS body, workflow_id AS "workflowId"
    FROM webhook_deliveries
    WHERE entity_id = ${entityId} ORDER BY event_id`;
  return deliveries.map(({ id, type, body, workflowId }) => {
    const { data } = JSON.parse(decrypt(db.keyring, body, `webhook_deliveries.body_encrypted:${id}`)) as {
      data: Record<string, unknown>[];
    };
    return { type, item: data[0] ?? {}, workflowId };
  });
}

/** Has the secrets of its parties hashed with the ring's current key, as token calls do. */
export async function renewHashes(
  db: Database,
  { credentials }: { credentials: Record<string, Claim> },
): Promise<void> {
  const claims = Object.values(credentials);
  for (const [i, client] of (await authenticateClients(db, claims)).entries()) {
    const claim = claims[i];
    if (client && claim) {
      await db.transaction((trx) => renewHash(trx, OPERATOR, client, claim));
    }
  }
}
