import { KINDS_OF_REASON, type KindOfReason } from '../../domain/charge';
import { ID_PREFIX } from '../../domain/identifier/ids';
import { raw, sql, type Fragment } from '../pool/statement';
import { allOf, literal } from '../query/list-page';
import { ownedBy, sidesOf, type Party } from '../query/party';

/** A filter over the view of transactions, for lists, files, searches and totals alike. */

export interface TransactionFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  settledFrom?: Date | undefined;
  settledTo?: Date | undefined;
  closedFrom?: Date | undefined;
  closedTo?: Date | undefined;
  status?: string | undefined;
  type?: string | undefined;
  reason?: KindOfReason | undefined;
  currency?: string | undefined;
  /** Minor units. */
  amountFrom?: bigint | undefined;
  amountTo?: bigint | undefined;
  merchantId?: string | undefined;
  customerId?: string | undefined;
  scheduleId?: string | undefined;
  reference?: string | undefined;
  transactionId?: string | undefined;
  /** The payer's bank's id; the payee's bank can search only by the id of a debit. */
  bankTransactionId?: string | undefined;
  /** A pair of a merchant's metadata, the value as text. */
  metadata?: { name: string; value: string } | undefined;
  /** A bank's choice: only payments by its customers, or only payments to them. */
  side?: 'payer' | 'payee' | undefined;
}

/** SQL: a part of what matches, which one index answers in order of `by`. */
export interface Part {
  by: 'created_at' | 'settled_at' | 'closed_at';
  where: (Fragment | false)[];
  /** Conditions that have no index. */
  looked: (Fragment | false)[];
  /** By which an amount changes what the party is owed. */
  sign: Fragment;
}

/** Conditions beside the filter's. */
export type Reading = Pick<Part, 'where' | 'looked'>;
const NOTHING_ELSE: Reading[] = [{ where: [], looked: [] }];

/** The charge shares the suffix of its transaction's id. */
const ofTransaction = (id: string) => sql`
  SELECT '${raw(ID_PREFIX.billingRequest)}_' || substr(${id}, 5) UNION ALL SELECT ${id}
  UNION ALL SELECT id FROM refunds WHERE transaction_id = ${id}`;

/** The resources that own a bank's id, by an index, however many banks there are. */
const ownedByName = (bankTransactionId: string) => sql`
  WITH named AS (
    SELECT t.resource_id AS id FROM entities bank
      JOIN bank_transactions t ON t.bank_id = bank.id AND t.bank_transaction_id = ${bankTransactionId}
    WHERE bank.type = 'bank')
  SELECT id FROM named UNION ALL SELECT transaction_id FROM reversals JOIN named ON exception_id = named.id
  UNION ALL SELECT return_transaction_id FROM refunds JOIN named ON returned_by = named.id`;

/** SQL: it goes by a bank's id. The payee's bank knows the id of a debit alone. */
export const namedByBank = ({ entityId }: Party, bankTransactionId: string) => sql`
  id = ANY(ARRAY(${ownedByName(bankTransactionId)})) AND bank_transaction_id = ${bankTransactionId}
  AND (bank_id = ${entityId} OR type = 'charge')`;

/** The index has only hashes, so the pair itself is compared as well. */
const hasPair = ({ entityId }: Party, { name, value }: { name: string; value: string }) => sql`
  metadata ->> ${name} = ${value} AND metadata <> '{}'
  AND metadata_hashes(coalesce(provider_id, merchant_id), metadata) @> metadata_hashes(
    (SELECT coalesce(provider_id, id) FROM entities WHERE id = ${entityId}), jsonb_build_object(${name}::text, ${value}::text))`;

/**
 * The party's transactions that match the filter. Each part has one side, for each side has an
 * index of its own.
 *
 * @param readings each makes parts of its own
 */
export function partsOf(party: Party, filter: TransactionFilter, readings = NOTHING_ELSE): Part[] {
  const { reason, status, type, customerId, transactionId } = filter;
  const where = [
    type !== undefined && sql`type = ${literal(type)}`,
    filter.merchantId !== undefined && sql`merchant_id = ${filter.merchantId}`,
    customerId !== undefined &&
      (party.role === 'bank'
        ? sql`(customer_id = ${customerId} OR payee_customer_id = ${customerId})`
        : sql`customer_id = ${customerId}`),
    filter.scheduleId !== undefined &&
      sql`billing_request_id = ANY(ARRAY(
        SELECT id FROM billing_requests WHERE schedule_id = ${filter.scheduleId}))`,
    filter.reference !== undefined && sql`reference = ${filter.reference}`,
    transactionId !== undefined &&
      sql`id = ANY(ARRAY(${ofTransaction(transactionId)})) AND transaction_id = ${transactionId}`,
    filter.bankTransactionId !== undefined && namedByBank(party, filter.bankTransactionId),
    filter.metadata !== undefined && hasPair(party, filter.metadata),
  ];
  const looked = [
    filter.currency !== undefined && sql`currency = ${filter.currency}`,
    filter.amountFrom !== undefined && sql`amount >= ${filter.amountFrom}::bigint`,
    filter.amountTo !== undefined && sql`amount <= ${filter.amountTo}::bigint`,
    reason !== undefined &&
      (reason === 'other'
        ? sql`(decline_reason = 'other' OR NOT decline_reason = ANY(${KINDS_OF_REASON}::text[]))`
        : sql`decline_reason = ${reason}`),
  ];
  return signedSides(party, filter.side).flatMap(({ side, sign }) =>
    timesOf({ ...filter, status: status ?? (reason && 'declined') }).flatMap(({ by, where: when }) =>
      readings.map((one) => ({
        by,
        where: [side, ...where, ...when, ...one.where],
        looked: [...looked, ...one.looked],
        sign,
      })),
    ),
  );
}

/** SQL: the rows of a part that its indexes find, with more conditions. */
export const rowsOf = ({ where }: Part, columns: Fragment, ...more: (Fragment | false)[]) =>
  sql`SELECT ${columns} FROM transactions WHERE ${allOf(...where, ...more)}`;

const BILLERS_SIGN = sql`CASE WHEN type IN ('charge', 'refund_return') THEN 1 ELSE -1 END`;
const PAYERS_SIGN = sql`CASE WHEN payee_bank_id = bank_id THEN 0 WHEN type IN ('charge', 'refund_return') THEN -1 ELSE 1 END`;
/** The network's own part of a reversal goes to no bank: it had let the bank off before. */
const toNetwork = ({ entityId }: Party) => sql`CASE type WHEN 'reversal' THEN coalesce((
  SELECT p.amount FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'
  WHERE e.resource_id = transactions.id AND e.kind = 'reversal' AND p.party_id = ${entityId}), 0) ELSE 0 END`;

/** SQL: by how much a row has changed what the party is owed. */
export const movedBy = (party: Party, { sign }: Part) =>
  sql`CASE WHEN settled_at IS NOT NULL THEN ${sign} * amount - ${toNetwork(party)} ELSE 0 END::bigint AS moved`;

function signedSides(party: Party, only: TransactionFilter['side']): { side: Fragment; sign: Fragment }[] {
  const payers = ownedBy(party);
  if (party.role !== 'bank') return [{ side: payers, sign: BILLERS_SIGN }];
  const onPayers = { side: payers, sign: PAYERS_SIGN };
  if (only === 'payer') return [onPayers];
  const onOthers = sidesOf(party)
    .slice(1)
    .map((side) => ({ side, sign: BILLERS_SIGN }));
  const between = { side: sql`${payers} AND payee_bank_id = bank_id`, sign: sql`0` };
  return [only === 'payee' ? between : onPayers, ...onOthers];
}

const is = (status: string | undefined) => status !== undefined && sql`status = ${literal(status)}`;

/** By the time that the filter names: settlements, declines and rejections have own indexes. */
function timesOf(filter: TransactionFilter): Pick<Part, 'by' | 'where'>[] {
  const { status } = filter;
  const between = (by: Part['by'], from: keyof TransactionFilter, to: keyof TransactionFilter) => [
    filter[from] !== undefined && sql`${raw(by)} >= ${filter[from]}`,
    filter[to] !== undefined && sql`${raw(by)} < ${filter[to]}`,
  ];
  const created = between('created_at', 'from', 'to');
  const isSettled = filter.settledFrom !== undefined || filter.settledTo !== undefined;
  const settled = between('settled_at', 'settledFrom', 'settledTo');
  if (filter.closedFrom === undefined && filter.closedTo === undefined) {
    return [{ by: isSettled ? 'settled_at' : 'created_at', where: [is(status), ...created, ...settled] }];
  }
  const rest = [...created, ...settled];
  const moved = between('settled_at', 'closedFrom', 'closedTo');
  const closed = between('closed_at', 'closedFrom', 'closedTo');
  if (status !== undefined) {
    const by = ['declined', 'rejected', 'pending'].includes(status) ? 'closed_at' : 'settled_at';
    return [{ by, where: [is(status), ...rest, ...(by === 'closed_at' ? closed : moved)] }];
  }
  return [
    { by: 'settled_at', where: [...rest, ...moved] },
    ...['declined', 'rejected'].map((one) => ({
      by: 'closed_at' as const,
      where: [is(one), ...rest, ...closed],
    })),
  ];
}
