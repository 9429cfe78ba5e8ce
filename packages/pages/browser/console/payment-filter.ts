import { query } from './api';
import { addDays, firstOfMonth, lastOfMonth } from './days';

/* The filter of payments, as the page's address holds it. A text may be a name: none holds that. */

const NAMES = [
  'type',
  'status',
  'reason',
  'currency',
  'amountFrom',
  'amountTo',
  'from',
  'to',
  'settledFrom',
  'settledTo',
  'closedFrom',
  'closedTo',
  'merchantId',
  'customerId',
  'scheduleId',
  'side',
] as const;

export type PaymentFilter = Partial<Record<(typeof NAMES)[number], string>>;

export function filterOf(parameters: URLSearchParams): PaymentFilter {
  const given = NAMES.map((name) => [name, parameters.get(name) ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

export const paymentsAt = (filter: PaymentFilter) => `#/payments${query(filter)}`;

/** The body of a search. */
export function bodyOf({ amountFrom, amountTo, ...filter }: PaymentFilter, search: string): object {
  return {
    ...filter,
    ...(Number(amountFrom) > 0 && { amountFrom: Number(amountFrom) }),
    ...(Number(amountTo) > 0 && { amountTo: Number(amountTo) }),
    ...(search !== '' && { search }),
  };
}

/** Types and states together, as people speak of them. */
export const KINDS = {
  all: { name: 'All payments', of: {} },
  successful: { name: 'Successful charges', of: { type: 'charge', status: 'successful' } },
  declined: { name: 'Declined charges', of: { type: 'charge', status: 'declined' } },
  pending: { name: 'Pending charges', of: { type: 'charge', status: 'pending' } },
  charge: { name: 'All charges', of: { type: 'charge' } },
  refund: { name: 'Refunds', of: { type: 'refund' } },
  refunding: { name: 'Pending refunds', of: { type: 'refund', status: 'pending' } },
  rejected: { name: 'Rejected refunds', of: { type: 'refund', status: 'rejected' } },
  refund_return: { name: 'Refunds that came back', of: { type: 'refund_return' } },
  reversal: { name: 'Reversals', of: { type: 'reversal' } },
} as const satisfies Record<string, { name: string; of: PaymentFilter }>;

type Kind = keyof typeof KINDS;

export const KIND_NAMES = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { name }]) => [kind, name]),
) as Record<Kind, string>;

export const kindOf = ({ type, status }: PaymentFilter): Kind =>
  (Object.keys(KINDS) as Kind[]).find((kind) => {
    const of: PaymentFilter = KINDS[kind].of;
    return of.type === type && of.status === status;
  }) ?? 'all';

/** The moments that a span may be about; each names two parameters. */
export const CLOCKS = { created: 'Created', settled: 'Settled', closed: 'Ended' } as const;
type Clock = keyof typeof CLOCKS;

const FIELDS = {
  created: ['from', 'to'],
  settled: ['settledFrom', 'settledTo'],
  closed: ['closedFrom', 'closedTo'],
} as const satisfies Record<Clock, readonly [keyof PaymentFilter, keyof PaymentFilter]>;

interface Span {
  clock: Clock;
  from: string;
  to: string;
}

export function spanOf(filter: PaymentFilter): Span {
  const clock = (Object.keys(FIELDS) as Clock[]).find((one) =>
    FIELDS[one].some((field) => filter[field] !== undefined),
  );
  const [from, to] = FIELDS[clock ?? 'created'];
  return { clock: clock ?? 'created', from: filter[from] ?? '', to: filter[to] ?? '' };
}

/** Words for the name of a file: kind and days, without a text that was searched for. */
export function fileNameOf(filter: PaymentFilter, today: string): string {
  const { clock, from, to } = spanOf(filter);
  return `${KIND_NAMES[kindOf(filter)]} ${clock} ${from} to ${to || today}`;
}

export function withSpan(filter: PaymentFilter, { clock, from, to }: Span): PaymentFilter {
  const rest = { ...filter };
  for (const field of Object.values(FIELDS).flat()) delete rest[field];
  const [begin, end] = FIELDS[clock];
  return { ...rest, ...(from !== '' && { [begin]: from }), ...(to !== '' && { [end]: to }) };
}

export const SPANS = {
  any: 'Any time',
  today: 'Today',
  yesterday: 'Yesterday',
  week: 'Last 7 days',
  month: 'This month',
  before: 'Last month',
  own: 'From … to …',
} as const;
type SpanName = keyof typeof SPANS;

export function daysOf(name: SpanName, today: string): { from: string; to: string } {
  const lastMonth = addDays(firstOfMonth(today), -1);
  switch (name) {
    case 'today':
      return { from: today, to: today };
    case 'yesterday':
      return { from: addDays(today, -1), to: addDays(today, -1) };
    case 'week':
      return { from: addDays(today, -6), to: today };
    case 'month':
      return { from: firstOfMonth(today), to: today };
    case 'before':
      return { from: firstOfMonth(lastMonth), to: lastOfMonth(lastMonth) };
    default:
      return { from: '', to: '' };
  }
}

export const nameOfSpan = ({ from, to }: Pick<Span, 'from' | 'to'>, today: string): SpanName =>
  (Object.keys(SPANS) as SpanName[]).find((name) => {
    const days = daysOf(name, today);
    return days.from === from && days.to === to;
  }) ?? 'own';
