import { newId } from '../../src/database/identifier/new-id';
import type { Database } from '../../src/database/pool/connection';
import { postEntries } from '../../src/database/ledger/post-entries';
import { calendarDay } from '../../src/domain/calendar';
import { entryOf } from '../../src/domain/books/ledger';
import type { Standing } from './standing';

/** A party's money as it is told of it, and much of it at once. */

const timeZone = 'Africa/Lagos';

/** Between the header and the last line, which is a total. */
export const linesOf = (file: string) => file.split('\r\n').slice(1, -2);
export const totalOf = (file: string) => file.split('\r\n').at(-2)?.split(',').slice(0, 3);

/** The day that it is for a party. */
export async function dayOf(db: Database, billerId: string): Promise<string> {
  const found = await db.row<{ now: Date }>`SELECT business_now(${billerId}) AS now`;
  return calendarDay(found?.now ?? new Date(0), timeZone);
}

/** Entries of charges that there are no rows of, all of one amount in kobo. */
export async function postCharges(
  db: Database,
  { bankId, merchantId }: Standing,
  amount: bigint,
  count: number,
): Promise<void> {
  const paid = { amount, currency: 'NGN', bankId, merchantId, billerId: merchantId };
  const settledAt = new Date();
  await db.transaction((trx) =>
    postEntries(
      trx,
      Array.from({ length: count }, () =>
        entryOf({ kind: 'charge', resourceId: newId('billingRequest'), settledAt, paid }),
      ),
    ),
  );
}

type Settling = Pick<Standing, 'agreementId' | 'bankId' | 'merchantId'>;

/** Charges of a naira each, with their rows and entries, in few statements. */
export async function settleMany(
  db: Database,
  { agreementId, bankId, merchantId }: Settling,
  count: number,
): Promise<void> {
  const ids = Array.from({ length: count }, () => newId('billingRequest'));
  await db.transaction(async (trx) => {
    await trx.rows`
      INSERT INTO billing_requests (id, reference, batch_id, merchant_id, provider_id, customer_id, bank_id,
        lookup_id,
        agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at)
      SELECT given, upper(substr(md5(given), 1, 24)), 'bat_1', a.merchant_id,
        (SELECT provider_id FROM entities WHERE id = a.merchant_id), a.customer_id, a.bank_id, 'a-b-c-d-10',
        a.id, 100, 'NGN', 'Shoes',
        false, clock_timestamp() + interval '1 day', 'billing-request/' || given, clock_timestamp()
      FROM agreements a, unnest(${ids}::text[]) AS given WHERE a.id = ${agreementId}`;
    await trx.rows`
      INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
      SELECT ${bankId}, 'tx-' || id, id FROM unnest(${ids}::text[]) AS id`;
    const closed = await trx.rows<{ id: string; settledAt: Date }>`
      UPDATE billing_requests SET status = 'successful', closed_by = 'bank',
        bank_transaction_id = 'tx-' || id,
        closed_at = settling_now(biller_id), sequence = sequence + 1
      WHERE id = ANY(${ids}) RETURNING id, closed_at AS "settledAt"`;
    const paid = { amount: 100n, currency: 'NGN', bankId, merchantId, billerId: merchantId };
    await postEntries(
      trx,
      closed.map(({ id, settledAt }) => entryOf({ kind: 'charge', resourceId: id, settledAt, paid })),
    );
  });
}
