import type { Content, Stream } from '../../domain/books/chain';
import { microseconds } from '../moment';

/** Where the rows of each stream are, and how what one says is read. */

interface Rows {
  /** Its rows. */
  table: string;
  /** Its links. */
  chain: string;
  idType: 'bigint' | 'text';
  /** Before the first id, also of those that only the owner of the table can give. */
  start: string;
  /** A row, for who reads that it is wrong. */
  called: string;
  /** What it says, of a row `r`: `fields`, and `parts` of what belongs to it. */
  fields: string;
  parts: string;
}

export const ROWS_OF: Record<Stream, Rows> = {
  ledger: {
    table: 'ledger_entries',
    chain: 'ledger_chain',
    idType: 'bigint',
    start: '-9223372036854775808',
    called: 'entry',
    fields: `r.kind, r.resource_id, ${microseconds('r.settled_at')}, r.settlement_day::text, r.belongs_to::text,
       ${microseconds('r.recorded_at')}`,
    parts: `(SELECT coalesce(array_agg(ARRAY[p.n::text, p.party_id, p.account, p.currency, p.direction, p.amount::text]
       ORDER BY p.n), '{}') FROM ledger_postings p WHERE p.entry_id = r.id)`,
  },
  events: {
    table: 'events',
    chain: 'event_chain',
    idType: 'text',
    start: '',
    called: 'event',
    fields: `r.resource_id, r.sequence::text, r.type, r.cause, r.details::text, ${microseconds('r.business_at')},
       ${microseconds('r.recorded_at')}, r.request_id`,
    parts: `'{}'::text[]`,
  },
  acts: {
    table: 'audit_events',
    chain: 'act_chain',
    idType: 'bigint',
    start: '-9223372036854775808',
    called: 'act',
    fields: `${microseconds('r.recorded_at')}, r.actor, r.action, r.entity_id, r.request_id,
       r.own_request_id::text, r.reason, r.before::text, r.after::text`,
    parts: `'{}'::text[]`,
  },
};

export interface ReadRow {
  id: string;
  fields: (string | null)[];
  parts: (string | null)[][];
}

/** The columns of a `ReadRow`, of a row `r`. */
export const contentColumns = ({ fields, parts }: Rows): string =>
  `r.id::text AS id, ARRAY[${fields}]::text[] AS fields, ${parts} AS parts`;

export const contentOf = ({ id, fields, parts }: ReadRow): Content => [id, ...fields, parts];
