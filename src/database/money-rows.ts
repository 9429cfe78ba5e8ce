import type { Difference, Page } from './compared';
import { oneRow, rows, type Database } from './connection';
import { borneOf } from './ledger/settlement';
import { NOW, XID } from './operation/why-events';
import { FEED_HORIZON } from './webhook/event-feed';

/**
 * Compares each row of money with its last audit event, with the ledger's entries of it, and with
 * the webhooks and the exception that its transactions wrote. A page is one statement, so what
 * settles meanwhile is no difference. It walks ids, not rows: what a deleted row has left behind is
 * found in its place.
 */

/** Ids of a page: a tenth of a second of Postgres. */
const PAGE = 2_000;
/** Events and entries of a page, which are as many where rows are gone. */
const EVENTS_OF_PAGE = 4 * PAGE;

interface Kind {
  prefix: string;
  /** Its rows, as `r (id, …)`. */
  from: string;
  /** What is compared: its names, and it in rows `r` and events `e`, in one order. */
  facts: string[];
  stands: string[];
  said: string[];
  says: string;
  /** The entries that the ledger has of it, and the statements that make them of rows `r`. */
  entries: string[];
  expected: string[];
  /** Receivers that are told of events of some types, by webhooks of some types. */
  told?: { of: string[]; by: string[]; receiver: string; when?: string }[];
  /** Rows that are wrong for another reason, and the reason. */
  wrong?: string;
}

// Quoted, for a name follows a bare colon in statements.
const moment = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.MS"Z"')`;
const listed = (types: string[]) => types.map((one) => `'${one}'`).join(', ');

/** Whether an id is of the page. */
type Within = (id: string) => string;

type Holder = [account: string, party: string];

/** An entry of kind `kind` that moves a row's amount, as text like that of `POSTED`. */
const entry = (
  kind: string,
  at: string | null,
  [from, payer]: Holder,
  [to, payee]: Holder,
  when = 'true',
  more = { id: 'r.id', amount: 'r.amount', join: '' },
) => `
  SELECT ${more.id} AS id, '${kind}' AS kind, concat(${at === null ? '' : `${moment(at)}, ': ',`}
    'debit ', ${more.amount}, ' ', r.currency, ' ', ${from}, ' ', ${payer}, ', credit ', ${more.amount}, ' ',
    r.currency, ' ', ${to}, ' ', ${payee}) AS says
  FROM r ${more.join} WHERE ${when}`;

/** Written off by the network, with the amount that the ledger says: none of it stands in a row. */
const writtenOff = (when: string) =>
  entry('write_off', 'e.settled_at', [`'disputed'`, 'r.bank_id'], [`'customer_bank'`, 'r.bank_id'], when, {
    id: 'r.id',
    amount: 'p.amount',
    join: `JOIN ledger_entries e ON e.resource_id = r.id AND e.kind = 'write_off'
      JOIN ledger_postings p ON p.entry_id = e.id AND p.n = 1 AND p.amount <= r.amount`,
  });

const BANK: Holder = [`'customer_bank'`, 'r.bank_id'];
const MERCHANT: Holder = [`'merchant'`, 'r.merchant_id'];

const MONEY = {
  facts: ['amount', 'currency', 'status', 'bankTransactionId', 'closedAt'],
  stands: ['r.amount::text', 'r.currency', 'r.status', 'r.bank_transaction_id', moment('r.closed_at')],
  said: ['amount', 'currency', 'status', 'bankTransactionId', 'closedAt'].map(
    (fact) => `e.details->>'${fact}'`,
  ),
  says: `e.details ? 'status'`,
};

const KINDS: Record<string, Kind> = {
  charges: {
    ...MONEY,
    prefix: 'brq_',
    from: `SELECT id, amount, currency::text, status, bank_transaction_id, closed_at, closed_by, decline_reason, bank_id,
        merchant_id, owner_id, credit_settled FROM billing_requests`,
    entries: ['charge', 'credit'],
    expected: [
      entry(
        'charge',
        'r.closed_at',
        BANK,
        [`CASE WHEN r.merchant_id IS NULL THEN 'in_transit' ELSE 'merchant' END`, 'r.owner_id'],
        `r.status = 'successful'`,
      ),
      // The moment at which the payee's bank was told is on no row.
      entry(
        'credit',
        null,
        [`'in_transit'`, 'r.owner_id'],
        [`'payee_bank'`, 'r.owner_id'],
        'r.credit_settled',
      ),
    ],
    told: [
      {
        of: ['billing_request.accepted'],
        by: ['billing.request'],
        receiver: 'r.bank_id',
        when: `r.status = 'pending'`,
      },
      {
        of: ['billing_request.successful', 'billing_request.declined'],
        by: ['billing.response', 'billing.credit'],
        receiver: 'r.owner_id',
      },
      {
        of: ['billing_request.declined'],
        by: ['billing.closed'],
        receiver: 'r.bank_id',
        when: `e.cause <> 'bank' AND r.decline_reason IS DISTINCT FROM 'limit_reached'`,
      },
      { of: ['billing_request.reversed'], by: ['billing.reversed'], receiver: 'r.owner_id' },
    ],
    wrong: `
      SELECT r.id, 'it expired at a bank that may have the charge, and it has no exception' AS what FROM r
      WHERE CASE WHEN r.closed_by = 'network' AND r.decline_reason = 'expired' THEN
        (SELECT true FROM reconciliation_exceptions x WHERE x.billing_request_id = r.id LIMIT 1) IS NULL END`,
  },
  refunds: {
    ...MONEY,
    prefix: 'rfd_',
    from: `SELECT id, amount, currency::text, status, bank_transaction_id, closed_at, bank_id, merchant_id FROM refunds`,
    entries: ['refund', 'write_off'],
    expected: [
      entry('refund', 'r.closed_at', MERCHANT, BANK, `r.status IN ('completed', 'returned')`),
      writtenOff(`r.status IN ('rejected', 'returned')`),
    ],
    told: [
      {
        of: ['refund.requested'],
        by: ['refund.request'],
        receiver: 'r.bank_id',
        when: `r.status = 'pending'`,
      },
      {
        of: ['refund.completed', 'refund.rejected', 'refund.overdue'],
        by: ['refund.response'],
        receiver: 'r.merchant_id',
      },
      { of: ['refund.returned'], by: ['refund.returned'], receiver: 'r.merchant_id' },
      { of: ['refund.returned'], by: ['refund.returned'], receiver: 'r.bank_id' },
    ],
  },
  returns: {
    prefix: 'txn_',
    from: `SELECT return_transaction_id AS id, amount, currency::text, bank_id, merchant_id, returned_at FROM refunds`,
    facts: [],
    stands: [],
    said: [],
    says: 'false',
    entries: ['refund_return'],
    expected: [entry('refund_return', 'r.returned_at', BANK, MERCHANT)],
  },
  reversals: {
    ...MONEY,
    prefix: 'txn_',
    from: `SELECT transaction_id AS id, amount, currency::text, 'completed' AS status, bank_transaction_id,
        created_at AS closed_at, bank_id, merchant_id, payee_bank_id FROM reversals`,
    says: `e.type = 'reversal.completed'`,
    entries: ['reversal'],
    expected: [
      entry(
        'reversal',
        'r.closed_at',
        [
          `CASE WHEN r.merchant_id IS NULL THEN 'payee_bank' ELSE 'merchant' END`,
          'coalesce(r.merchant_id, r.payee_bank_id)',
        ],
        BANK,
      ),
    ],
  },
  exceptions: {
    prefix: 'exc_',
    from: `SELECT id, billing_request_id, state, resolution, amount, currency::text, bank_id, coalesce(merchant_id, payee_bank_id) AS payee_id
      FROM reconciliation_exceptions`,
    facts: ['state', 'resolution'],
    stands: ['r.state', 'r.resolution'],
    said: [
      `CASE e.type WHEN 'exception.opened' THEN 'open' ELSE substr(e.type, 11) END`,
      `CASE e.type WHEN 'exception.resolved' THEN e.details->>'resolution' END`,
    ],
    says: `e.type IN ('exception.opened', 'exception.investigating', 'exception.resolved')`,
    entries: ['write_off'],
    expected: [writtenOff(`r.resolution = 'written_off'`)],
    // A later refund or reversal comes on top of it.
    wrong: `
      SELECT id, format('it is written off, and of %s the ledger has written off %s', let_off, known) AS what
      FROM (SELECT b.id, b.amount - b.refunded_amount - b.reversed_amount AS rest, max(x.let_off) AS let_off,
              coalesce((SELECT written_off FROM (${borneOf('b.id')}) AS borne), 0) AS known
            FROM billing_requests b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
            WHERE b.status = 'successful' AND x.resolution = 'written_off' AND b.id = ANY(ARRAY(
              SELECT r.billing_request_id FROM r WHERE r.resolution = 'written_off'))
            GROUP BY b.id) AS w
      WHERE known < least(let_off, rest) OR known > let_off`,
    told: ['exception.opened', 'exception.resolved'].flatMap((type) =>
      ['r.bank_id', 'r.payee_id'].map((receiver) => ({ of: [type], by: [type], receiver })),
    ),
  },
};

export const ROW_CHECKS = Object.keys(KINDS);

/** Which kinds of entries have an id of which prefix: any other entry is of nothing. */
export const ENTRIES_OF = Object.values(KINDS).flatMap(({ prefix, entries }) =>
  entries.map((kind) => [kind, prefix] as const),
);

/** What the network bore of a reversal goes back to the network: together it is what it took. */
const BORNE = `(SELECT direction, currency, party_id, replace(account, 'disputed', 'customer_bank') AS account,
    sum(amount) AS amount FROM ledger_postings WHERE entry_id = e.id GROUP BY 1, 2, 3, 4)`;

const posted = ({ entries }: Kind, within: Within) => `
  SELECT e.resource_id AS id, e.kind, concat(CASE e.kind WHEN 'credit' THEN NULL ELSE ${moment('e.settled_at')} || ': ' END,
    coalesce((SELECT string_agg(concat(p.direction, ' ', p.amount, ' ', p.currency, ' ', p.account, ' ', p.party_id), ', '
                ORDER BY p.direction DESC, p.account, p.party_id)
              FROM ${entries.includes('reversal') ? BORNE : '(SELECT * FROM ledger_postings WHERE entry_id = e.id)'} AS p), 'no postings')) AS says
  FROM ledger_entries e WHERE ${within('e.resource_id')} AND e.kind IN (${listed(entries)})`;

/**
 * The transaction that records an event writes the webhooks that tell of it, so both have its id.
 * In a copied database ids of transactions are others; there (3) the moment decides.
 */
const untold = (told: NonNullable<Kind['told']>, within: Within) => `
  SELECT id, format('its audit event %s is there, and the webhook %s to %s that tells of it is gone', type, by[1], receiver) AS what
  FROM (
    SELECT r.id, e.type, e.recorded_at AS at, (${XID})::xid8 AS xid, t.receiver, t.by
    FROM ${NOW}, events e JOIN r ON r.id = e.resource_id, LATERAL (VALUES ${told
      .map(
        ({ of, by, receiver, when = 'true' }) =>
          `(e.type IN (${listed(of)}) AND ${when}, ${receiver}, ARRAY[${listed(by)}])`,
      )
      .join(', ')}) AS t (due, receiver, by)
    WHERE ${within('e.resource_id')} AND t.due AND t.receiver IS NOT NULL AND e.recorded_at > ${FEED_HORIZON}
    -- So that what is due is known before a webhook of it is looked for.
    OFFSET 0) AS due
  WHERE (SELECT true FROM webhook_deliveries d WHERE d.entity_id = receiver
         AND d.created_xid = xid AND d.webhook_type = ANY(by) LIMIT 1) IS NULL
    AND (SELECT true FROM webhook_deliveries d WHERE d.entity_id = receiver
         AND d.created_xid = '3' AND d.webhook_type = ANY(by)
         AND d.created_at BETWEEN at - interval '1 minute' AND at + interval '1 minute' LIMIT 1) IS NULL`;

function comparison(kind: Kind, within: Within): string {
  const { from, stands, said, says, expected, told, wrong } = kind;
  return `
    WITH r AS MATERIALIZED (SELECT * FROM (${from}) AS r WHERE ${within('r.id')}),
    said AS (
      SELECT e.resource_id AS id, ARRAY[${said.join(', ')}]::text[] AS facts
      FROM (SELECT DISTINCT ON (e.resource_id) e.* FROM events e WHERE ${within('e.resource_id')} AND ${says}
            ORDER BY e.resource_id, e.sequence DESC) AS e),
    stands AS (SELECT r.id, ARRAY[${stands.join(', ')}]::text[] AS facts FROM r),
    expected AS (${expected.join(' UNION ALL ')}),
    posted AS (${posted(kind, within)})
    SELECT (SELECT count(*)::int FROM r) AS checked,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'stands', stands.facts, 'said', said.facts)), '[]')
       FROM stands FULL JOIN said USING (id) WHERE stands.facts IS DISTINCT FROM said.facts${said.length === 0 ? ' AND false' : ''}) AS rows,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'due', expected.says, 'posted', posted.says)), '[]')
       FROM expected FULL JOIN posted USING (id, kind) WHERE expected.says IS DISTINCT FROM posted.says) AS entries,
      (SELECT coalesce(jsonb_agg(others), '[]')
       FROM (${[...(told ? [untold(told, within)] : []), ...(wrong ? [wrong] : []), `SELECT '', '' WHERE false`].join(' UNION ALL ')}) AS others (id, what)) AS others`;
}

interface Found {
  checked: number;
  rows: { id: string; stands: (string | null)[] | null; said: (string | null)[] | null }[];
  entries: { id: string; kind: string; due: string | null; posted: string | null }[];
  others: Difference[];
}

function inWords({ facts }: Kind, { rows: changed, entries, others }: Found): Difference[] {
  return [
    ...changed.map(({ id, stands, said }) => {
      const differing = facts.flatMap((_, n) => (stands?.[n] === said?.[n] ? [] : [n]));
      const words = (of: (string | null)[]) =>
        differing.map((n) => `${facts[n]} ${of[n] ?? 'none'}`).join(', ');
      if (!stands)
        return {
          id,
          what: `it was deleted: its last audit event says ${words(said ?? [])}, and there is no row`,
        };
      if (!said)
        return { id, what: `its row says ${words(stands)}, and no audit event says that it was made` };
      return { id, what: `its row says ${words(stands)}, and its last audit event says ${words(said)}` };
    }),
    ...entries.map(({ id, kind, due, posted: has }) => ({
      id,
      what: `its row asks for ${due === null ? `no ${kind}` : `this ${kind}: ${due}`}; the ledger has ${has === null ? 'none' : has}`,
    })),
    ...others,
  ];
}

const BETWEEN = (id: string) => `${id} > :after AND ${id} <= :upto`;
const AMONG = (id: string) => `${id} = ANY(:ids::text[])`;

const all = Object.entries(KINDS);
const OF_RANGE = new Map(all.map(([check, kind]) => [check, comparison(kind, BETWEEN)]));
const OF_IDS = new Map(all.map(([check, kind]) => [check, comparison(kind, AMONG)]));

/** Compares all rows of a kind, from an id on. */
export async function* compareRows(
  db: Database,
  check: string,
  from: string | null,
): AsyncGenerator<Page, void, undefined> {
  const kind = KINDS[check];
  if (!kind) return;
  let after: string | null = from ?? kind.prefix;
  while (after !== null) {
    const range: { after: string; upto: string | null } = { after, upto: await endOfPage(db, kind, after) };
    const sql = OF_RANGE.get(check) ?? '';
    const found = await oneRow<Found>(db, sql, { ...range, upto: range.upto ?? lastOf(kind) }, 'anew');
    yield { check, checked: found.checked, differences: inWords(kind, found), next: range.upto };
    after = range.upto;
  }
}

/** No id of the kind sorts behind it. */
const lastOf = ({ prefix }: Kind) => `${prefix}zz`;

/** The id that a page after another id ends with; null where it is the last. */
async function endOfPage(db: Database, kind: Kind, after: string): Promise<string | null> {
  const within = BETWEEN('id');
  const { upto } = await oneRow<{ upto: string | null }>(
    db,
    `SELECT least(
       (SELECT id FROM (${kind.from}) AS r WHERE ${within} ORDER BY id OFFSET ${PAGE - 1} LIMIT 1),
       (SELECT resource_id FROM events WHERE ${BETWEEN('resource_id')} ORDER BY resource_id OFFSET ${EVENTS_OF_PAGE} LIMIT 1),
       (SELECT resource_id FROM ledger_entries WHERE ${BETWEEN('resource_id')} ORDER BY resource_id OFFSET ${EVENTS_OF_PAGE} LIMIT 1)
     ) AS upto`,
    { after, upto: lastOf(kind) },
    'anew',
  );
  return upto;
}

/**
 * Compares the rows that have an event of some time.
 *
 * @param first the first id of an event of that time, and `end` the first behind it
 */
export async function* compareChanged(
  db: Database,
  { first, end }: { first: string; end: string },
): AsyncGenerator<Page, void, undefined> {
  let after: string | null = first;
  while (after !== null) {
    const page: { id: string; ids: string[] }[] = await rows(
      db,
      `SELECT id, ARRAY[resource_id, CASE type WHEN 'refund.returned' THEN details->>'transactionId' END] AS ids
       FROM events WHERE id >= :after AND id < :end ORDER BY id LIMIT ${PAGE}`,
      { after, end },
      'anew',
    );
    const changed = new Set(page.flatMap(({ ids }) => ids.filter((id) => id !== null)));
    for (const [check, kind] of all) {
      const ids = [...changed].filter((id) => id.startsWith(kind.prefix));
      if (ids.length === 0) continue;
      const found = await oneRow<Found>(db, OF_IDS.get(check) ?? '', { ids }, 'anew');
      yield { check, checked: found.checked, differences: inWords(kind, found), next: null };
    }
    after = page[PAGE - 1]?.id ?? null;
  }
}
