import type { Stream } from '../books/chain';
import { worded, type FactsOf as FactsOfSentence, type FaultOf } from './sentence';

/**
 * What `books verify` finds, in words for operators: a sentence for each code, of the facts that go
 * with it. Amounts are in minor units.
 */
const SENTENCES = {
  // A row, and what the ledger has of it.
  borne_differs: ({ amount, known }: Sum) =>
    `it is written off, and of ${amount} the ledger has written off ${known}`,
  entry_missing: ({ kind }: { kind: string }) =>
    `its row says that there is a ${kind}, and the ledger has another or none`,
  refunded_differs: ({ amount, known }: Sum) =>
    `refunded_amount is ${amount}, and its refunds in the ledger with the pending ones are ${known}`,
  reversed_differs: ({ amount, known }: Sum) =>
    `reversed_amount is ${amount}, and its reversals in the ledger are ${known}`,
  unexpected_entry: ({ kind }: { kind: string }) => `the ledger has a ${kind} that its row does not say`,
  reversal_differs: () => 'the ledger has another reversal or none',
  reversed_too_much: () => 'the reversals of its charge give back more than was written off',
  spent_day_differs: spent('spent_day_total'),
  spent_month_differs: spent('spent_month_total'),
  // The ledger by itself.
  imbalance: ({ rest, currency }: { rest: string; currency: string }) =>
    `the entry does not balance: ${rest} ${currency} are left over`,
  no_postings: () => 'the entry has no postings',
  of_nothing: ({ kind, resourceId }: { kind: string; resourceId: string }) =>
    `the entry is a ${kind} of ${resourceId}, which there is not`,
  other_day: ({ day, settledAt, due }: Record<'day' | 'settledAt' | 'due', string>) =>
    `the entry is of ${day}, and its moment, ${settledAt}, is of ${due}`,
  other_late_day: ({ day, belongsTo, recordedAt }: Record<'day' | 'belongsTo' | 'recordedAt', string>) =>
    `the entry belongs to ${belongsTo} and was written at ${recordedAt}, and is posted to ${day}, which it was not then`,
  written_when_closed: ({
    day,
    recordedAt,
    month,
    closedAt,
  }: Record<'day' | 'recordedAt' | 'month' | 'closedAt', string>) =>
    `the entry is posted to ${day} and was written at ${recordedAt}, after ${month} was closed at ${closedAt}`,
  other_write_off: ({ resourceId }: { resourceId: string }) => `the entry is no write-off of ${resourceId}`,
  balance_differs: ({ balance, posted }: { balance: Sides; posted: Sides }) =>
    `the balance has ${balance.count} postings, debits of ${balance.debits} and credits of ${balance.credits}, ` +
    `and the ledger ${posted.count}, ${posted.debits} and ${posted.credits}`,
  period_differs: ({ row, acts }: { row: Closing | null; acts: Closing | null }) =>
    `its row says ${closing(row)}, and the acts that were done to it ${closing(acts)}`,
  digest_of_unknown_edition: ({ edition, current }: { edition: number; current: number }) =>
    `the SHA-256 of its statement is of edition ${edition}, and its month was reopened ${current} times`,
  digest_differs: ({ kept, made }: { kept: string; made: string }) =>
    `the SHA-256 of its statement was kept as ${kept}, and that of its file is ${made}`,
  // A row, and the trail of its transitions.
  amount_held_differs: ({ amount, known }: Sum) =>
    `held_amount is ${amount}, and its exceptions hold ${known}`,
  closed_early: ({ closedAt, expiresAt }: Window) =>
    `it was closed for its window at ${closedAt}, which ended at ${expiresAt}`,
  closed_late: ({ closedAt, expiresAt }: Window) =>
    `its bank has ended it at ${closedAt}, after its window, which ended at ${expiresAt}`,
  count_differs: ({ sequence, transitions, latest }: Record<'sequence' | 'transitions' | 'latest', string>) =>
    `its row counts ${sequence} transitions, and its trail has ${transitions}, numbered up to ${latest}`,
  not_claimed: ({ bankTransactionId }: { bankTransactionId: string }) =>
    `its row has the bank's transaction ${bankTransactionId}, which is not noted as its own`,
  other_billing: ({ n, by, of, said, stands }: OtherValue & { n: string; by: 'trail' | 'charge' }) =>
    `of its billing ${n} the row says that ${of} is ${stands ?? 'nothing'}, and ` +
    `${by === 'trail' ? 'its trail' : 'the charge of it'} ${said ?? 'nothing'}`,
  other_content: ({ columns }: { columns: string }) =>
    `of ${columns} its row says something else than its trail has the SHA-256 of`,
  other_end: ({ status, ended }: { status: string; ended: string }) =>
    `its row says that it is ${status}, and its trail that it ended by: ${ended || 'nothing'}`,
  other_parties: ({ column, value }: { column: string; value: string }) =>
    `its row says that it is of others than its ${column} ${value}`,
  other_value: ({ of, said, stands }: OtherValue) =>
    `its row says that ${of} is ${stands ?? 'nothing'}, and its trail ${said ?? 'nothing'}`,
  trail_of_nothing: () => 'it has a trail, and is there no more: its row was deleted',
  // A row, and the webhooks and exceptions that its transaction writes.
  exception_untold: () => 'it is open, and no webhook tells of it',
  question_lost: () =>
    'it waits for its bank, and the webhook that asks the bank is gone: ask the bank whether it has it',
  reversal_lacking: () =>
    'its exception says that its money did not stay, and something of it is neither refunded nor reversed',
  silence_unnoted: () => 'it expired at a bank that may have the charge, and it has no exception',
  untold: ({ webhookType, receiverId, event }: Record<'webhookType' | 'receiverId' | 'event', string>) =>
    `its trail has ${event}, and the webhook ${webhookType} to ${receiverId} that tells of it is gone`,
  // The chains, and the heads that are signed of them.
  links_missing: ({ n, count }: { n: bigint; count: bigint }) =>
    `before its link ${n} of the chain ${count === 1n ? 'a link was' : `${count} links were`} taken away`,
  row_deleted: ({ n }: { n: bigint }) =>
    `it is in the chain, as link ${n}, and is there no more: it was deleted`,
  row_changed: ({ n }: { n: bigint }) =>
    `it, or its link ${n} of the chain, was changed since it was chained: the link is not the hash of what ` +
    'it says and of the link before it',
  row_after_head: ({ recordedAt, signedAt }: { recordedAt: string; signedAt: string }) =>
    `it says that it was written at ${recordedAt}, and the head that was signed at ` +
    `${signedAt} does not have it: it was put there later`,
  row_after_chain: ({ recordedAt }: { recordedAt: string }) =>
    `it says that it was written at ${recordedAt}, and all of that time was chained without it: it was put there later`,
  unchained: ({ count }: { count: number }) =>
    `${count} of its rows have waited for more than half an hour to be chained: the workflow chain does not run`,
  no_heads: ({ n }: { n: bigint }) =>
    `its chain has ${n} links, and there is no head that says so: the heads were taken away`,
  first_head_unsigned: () => 'it is before all that is looked at, and none of the known keys has signed it',
  heads_missing: ({ before }: { before: bigint }) =>
    `the one before it has the number ${before}: what was between was taken away`,
  head_changed: ({ kid }: { kid: string }) => `it was changed: the key ${kid} has not signed what it says`,
  head_of_unknown_key: ({ kid }: { kid: string | undefined }) =>
    `it is signed with ${kid ?? 'no key'}, which is none of the network's that are known here`,
  head_misplaced: ({ number, day }: { number: number; day: string }) =>
    `it says that it is head ${number} of ${day}`,
  head_follows_another: () => 'it follows another head than the one before it',
  chain_cut: ({ stream, n }: LinkOf) =>
    `it says that the chain of ${stream} has ${n} links, which it has no more: its end was taken away`,
  chain_made_anew: ({ stream, n }: LinkOf) =>
    `it says another hash of link ${n} of ${stream} than the chain has: the chain was made anew`,
  kept_head_differs: () =>
    'it was kept, and the database has another of its number: the chains were made anew',
  kept_head_missing: () =>
    'it was kept, and the database has it no more: what was chained by then may be gone',
};

/** What a column says that something is, and what is known of it. */
interface Sum {
  amount: string;
  known: string;
}

interface OtherValue {
  of: string;
  said: string | null;
  stands: string | null;
}

interface Sides {
  count: bigint;
  debits: bigint;
  credits: bigint;
}

/** Of a month. */
interface Closing {
  state: string;
  reopenings: string;
}

interface Window {
  closedAt: string;
  expiresAt: string;
}

interface LinkOf {
  stream: Stream;
  n: number;
}

function spent(column: string) {
  return ({ of, total, known }: { of: string; total: string; known: string }) =>
    `${column} of ${of} is ${total}, and its charges in the ledger with the pending ones are ${known}`;
}

const closing = (of: Closing | null) =>
  of === null ? 'that it was never closed' : `${of.state}, after ${of.reopenings} times`;

/** Why something could not be compared, which is nothing wrong. */
export const NOT_COMPARED = {
  kept_of_another_form: 'it was kept of the file in a form that this version does not make',
} as const;

export type NotComparedCode = keyof typeof NOT_COMPARED;

export type FaultCode = keyof typeof SENTENCES;

/** What the sentence of a code takes. */
export type FactsOf<Code extends FaultCode> = FactsOfSentence<(typeof SENTENCES)[Code]>;

export type Fault = FaultOf<typeof SENTENCES>;

export const faultWords = (fault: Fault): string => worded(SENTENCES, fault);
