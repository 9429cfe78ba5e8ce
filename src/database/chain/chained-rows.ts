import type { Stream } from '../../domain/books/chain';
import { microseconds } from '../clock/moment';

interface Rows {
  table: string;
  /** The table of its links. */
  chain: string;
  idType: 'bigint' | 'text';
  /** The name of a row in a finding. */
  called: string;
  /** SQL: a row `r` as text, the same in every session. */
  content: string;
}

export const ROWS_OF: Record<Stream, Rows> = {
  ledger: {
    table: 'ledger_entries',
    chain: 'ledger_chain',
    idType: 'bigint',
    called: 'entry',
    content: `ROW(r.id, r.kind, r.resource_id, ${microseconds('r.settled_at')}, r.settlement_day::text,
      r.belongs_to::text, ${microseconds('r.recorded_at')},
      (SELECT string_agg(ROW(p.n, p.party_id, p.account, p.currency, p.direction, p.amount)::text, '' ORDER BY p.n)
       FROM ledger_postings p WHERE p.entry_id = r.id))::text`,
  },
  events: {
    table: 'events',
    chain: 'event_chain',
    idType: 'text',
    called: 'event',
    content: `ROW(r.id, r.resource_id, r.sequence, r.type, r.cause, r.details, ${microseconds('r.business_at')},
      ${microseconds('r.recorded_at')}, r.request_id, r.commit_id)::text`,
  },
  audit: {
    table: 'audit_events',
    chain: 'audit_chain',
    idType: 'bigint',
    called: 'audit event',
    content: `ROW(r.id, ${microseconds('r.recorded_at')}, r.actor, r.action, r.entity_id, r.request_id,
      r.own_request_id, r.reason, r.before, r.after)::text`,
  },
};

/** SQL: the input of a link's hash, as in `linkHash`. */
export const LINK_INPUT = (previous: string, stream: Stream, content: string) =>
  `encode(${previous}, 'hex') || '${stream}' || ${content}`;
