import { anyOf, fault } from './compared';
import { microseconds } from './moment';

/**
 * What stands in a row for good, once a transition has written it: the event of that transition,
 * which is chained, has one SHA-256 over it in its details, as `content.<part>`. It is worked out
 * from the row by the statement that writes the event, and anew by `books verify`. The statements
 * are the program's and no function of the database, which whoever owns the schema could replace.
 *
 * No part has a column that a later transition, a migration or the operator changes, nor one that
 * is sealed, for that is sealed anew under another key.
 */

/**
 * Stands before each SHA-256. Whoever changes what a part is made of, or how, takes another number
 * for it; what was written with this one is then compared as before, or not at all.
 */
const FORM = '1:';

interface Part {
  table: string;
  /** By its own name; the id of the resource is in it by itself. */
  columns: string[];
  moments?: string[];
  /** Which events have written it: of these types, and more about an event `e`. */
  types: string[];
  only?: string;
}

/** What has changed of a schedule's terms is named; at first all of them are new. */
const unlessKept = (field: string) => `(e.type = 'schedule.created' OR e.details->'changed' ? '${field}')`;

/** Where an operator has noted nothing the event says so: the note of before stands. */
const NOTED = `e.details->'noted' IS DISTINCT FROM 'false'`;

const PARTS: Record<string, Part> = {
  chargeMade: {
    table: 'billing_requests',
    columns: [
      'transaction_id',
      'reference',
      'batch_id',
      'merchant_id',
      'provider_id',
      'customer_id',
      'bank_id',
      'lookup_id',
      'payee_customer_id',
      'payee_bank_id',
      'payee_lookup_id',
      'agreement_id',
      'schedule_id',
      'billing_n',
      'attempt',
      'amount',
      'currency',
      'description',
      'approval_required',
      'workflow_id',
      'bank_delivery_id',
    ],
    moments: ['expires_at', 'created_at', 'recorded_at'],
    types: ['billing_request.accepted', 'billing_request.declined'],
    only: 'e.sequence = 1',
  },
  chargeEnded: {
    table: 'billing_requests',
    columns: ['decline_reason', 'answer_action', 'bank_metadata'],
    types: ['billing_request.successful', 'billing_request.declined'],
  },
  refundMade: {
    table: 'refunds',
    columns: [
      'transaction_id',
      'reference',
      'billing_request_id',
      'merchant_id',
      'provider_id',
      'customer_id',
      'bank_id',
      'amount',
      'currency',
      'reason',
    ],
    moments: ['expected_by', 'created_at', 'recorded_at'],
    types: ['refund.requested'],
  },
  refundEnded: {
    table: 'refunds',
    columns: ['reject_reason'],
    types: ['refund.completed', 'refund.rejected'],
  },
  reversalMade: {
    table: 'reversals',
    columns: [
      'reference',
      'exception_id',
      'refund_id',
      'billing_request_id',
      'merchant_id',
      'provider_id',
      'customer_id',
      'bank_id',
      'payee_customer_id',
      'payee_bank_id',
      'amount',
      'currency',
      'bank_transaction_id',
    ],
    moments: ['created_at', 'recorded_at'],
    types: ['reversal.completed'],
  },
  exceptionOpened: {
    table: 'reconciliation_exceptions',
    columns: [
      'billing_request_id',
      'refund_id',
      'bank_id',
      'merchant_id',
      'provider_id',
      'payee_bank_id',
      'customer_id',
      'reference',
      'amount',
      'currency',
      'direction',
      'booked_amount',
      'booked_currency',
    ],
    moments: ['opened_at', 'recorded_at'],
    types: ['exception.opened'],
  },
  exceptionSaid: {
    table: 'reconciliation_exceptions',
    columns: ['kind', 'outcome', 'bank_transaction_id', 'reason'],
    types: ['exception.opened', 'exception.updated'],
  },
  exceptionBankNote: {
    table: 'reconciliation_exceptions',
    columns: ['bank_note'],
    types: ['exception.resolved'],
    only: `e.cause = 'bank'`,
  },
  exceptionOperatorNote: {
    table: 'reconciliation_exceptions',
    columns: ['operator_note'],
    types: ['exception.investigating', 'exception.resolved'],
    only: `e.cause = 'operator' AND ${NOTED}`,
  },
  intentMade: {
    table: 'intents',
    columns: [
      'reference',
      'agreement_id',
      'merchant_id',
      'customer_id',
      'bank_id',
      'lookup_id',
      'batch_id',
      'currency',
      'description',
      'workflow_id',
      'bank_delivery_id',
    ],
    moments: ['due_date', 'expires_at', 'created_at', 'recorded_at'],
    types: ['intent.created'],
  },
  intentEnded: {
    table: 'intents',
    columns: ['reason', 'customer_decision', 'daily_limit', 'monthly_limit', 'block_merchant'],
    types: ['intent.approved', 'intent.declined', 'intent.superseded'],
  },
  scheduleMade: {
    table: 'schedules',
    columns: [
      'agreement_id',
      'merchant_id',
      'provider_id',
      'customer_id',
      'bank_id',
      'currency',
      'frequency',
      'every',
    ],
    moments: ['start_at', 'created_at', 'recorded_at'],
    types: ['schedule.created'],
  },
  scheduleDescription: {
    table: 'schedules',
    columns: ['description'],
    types: ['schedule.created', 'schedule.changed'],
    only: unlessKept('description'),
  },
  scheduleMetadata: {
    table: 'schedules',
    columns: ['metadata'],
    types: ['schedule.created', 'schedule.changed'],
    only: unlessKept('metadata'),
  },
  // One begins without an event.
  agreementMade: {
    table: 'agreements',
    columns: ['merchant_id', 'customer_id', 'bank_id'],
    moments: ['created_at'],
    types: ['agreement.decided'],
    only: 'e.sequence = 2',
  },
};

const ALL = Object.entries(PARTS);
const partsOf = (table: string) => ALL.filter(([, part]) => part.table === table);

const idOf = ({ table }: Part) => (table === 'reversals' ? 'transaction_id' : 'id');

/** Whether an event `e` has written this part. */
const isWrittenBy = ({ types, only = 'true' }: Part) => `(e.type IN (${anyOf(types)}) AND ${only})`;

/**
 * Of a row `r`: JSON that every session makes the same, also of numbers and moments, as text. The
 * functions are named with their schema, before which nobody can put another of the same name.
 */
const contentOf = (part: Part) => {
  const columns = part.columns.map((column) => `r.${column}::text`);
  const moments = (part.moments ?? []).map((column) => microseconds(`r.${column}`));
  const all = [`r.${idOf(part)}`, ...columns, ...moments].join(', ');
  const json = `pg_catalog.jsonb_build_array(${all})::pg_catalog.text`;
  const sha256 = `pg_catalog.sha256(pg_catalog.convert_to(${json}, 'UTF8'))`;
  return `'${FORM}' OPERATOR(pg_catalog.||) pg_catalog.encode(${sha256}, 'hex')`;
};

/** Made once, for each charge writes some events. Of events `e` that are being written. */
const WRITTEN = ALL.map(([name, part]) => ({
  types: part.types,
  select: `SELECT e.id, '${name}' AS name, ${contentOf(part)} AS content
           FROM e JOIN ${part.table} r ON r.${idOf(part)} = e.resource_id WHERE ${isWrittenBy(part)}`,
}));

/**
 * Of events `e (id, resource_id, sequence, type, cause, details)` that are being written: what is
 * added to the details of each, as `(id, content)`. Null where none of these types writes a part.
 *
 * All at once: looked up for each by itself, a thousand events read a small table a thousand times.
 *
 * @param types of all of them
 */
export function contentWritten(types: ReadonlySet<string>): string | null {
  const parts = WRITTEN.filter((part) => part.types.some((type) => types.has(type)));
  if (parts.length === 0) return null;
  return `
    SELECT id, jsonb_build_object('content', jsonb_object_agg(name, content)) AS content
    FROM (${parts.map(({ select }) => select).join(' UNION ALL ')}) AS parts GROUP BY id`;
}

/**
 * Of each row of a page of this table, by its events `e`: the SHA-256 of its parts as they were
 * written last. A version that wrote a part without it has left nothing to compare.
 */
export const contentSaid = (table: string): string =>
  partsOf(table)
    .map(
      ([name, part]) => `, (array_agg(e.details->'content'->>'${name}' ORDER BY e.sequence DESC)
          FILTER (WHERE ${isWrittenBy(part)}))[1] AS "${name}"`,
    )
    .join('');

/** Rows of the page that have another content than their `trail`, which `contentSaid` has read. */
export const contentDiffers = (table: string): string =>
  partsOf(table)
    .map(([name, part]) => {
      const columns = [...part.columns, ...(part.moments ?? [])].join(', ');
      // In one expression of both: by a filter of its own Postgres takes a trail for a few rows,
      // and goes through all of it for each row of the page.
      return `
      SELECT page.id, ${fault('other_content', { columns: `'${columns}'` })}
      FROM page JOIN trail USING (id) JOIN ${table} r ON r.${idOf(part)} = page.id
      WHERE CASE WHEN starts_with(trail."${name}", '${FORM}') THEN trail."${name}" <> ${contentOf(part)} END`;
    })
    .join(' UNION ALL ');
