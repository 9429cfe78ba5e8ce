import { anyOf, fault } from './compared';

/**
 * Parts of the statement that compares a page of schedules with their trails: their billings, which
 * are in no chain, how far each schedule has come with them, and what is told of them.
 */

const BILLING_ENDS = ['schedule.billing_successful', 'schedule.billing_failed', 'schedule.billing_skipped'];

/** The last thing that an event of a billing says. */
const BILLING_STATUS = `CASE billed.type WHEN 'schedule.billing_charged' THEN 'pending' ELSE substr(billed.type, 18) END`;

/** A column of a billing, with the trail of its schedule or with its last charge. */
interface SaidOfBilling {
  by: 'trail' | 'charge';
  column: string;
  stands: string;
  said: string;
  known: string;
}

const momentOfBilling = (column: string, said: string, known = 'true'): SaidOfBilling => ({
  by: 'trail',
  column,
  stands: `date_trunc('milliseconds', b.${column})`,
  said: `date_trunc('milliseconds', ${said})`,
  known: `b.n IS NOT NULL AND billed.n IS NOT NULL AND ${known}`,
});

const OF_BILLING: SaidOfBilling[] = [
  { by: 'trail', column: 'status', stands: 'b.status', said: `(${BILLING_STATUS})`, known: 'true' },
  // A bank's own words are not written down when it fails.
  {
    by: 'trail',
    column: 'reason',
    stands: 'b.reason',
    said: `billed.last->>'reason'`,
    known: `billed.last->>'reason' <> 'other'`,
  },
  { by: 'trail', column: 'attempts', stands: 'b.attempts', said: 'billed.attempts', known: 'b.n = billed.n' },
  momentOfBilling('first_attempt_at', 'billed.first_attempt_at'),
  momentOfBilling('closed_at', 'billed.closed_at'),
  momentOfBilling('retry_at', `(billed.last->>'retryAt')::timestamptz`),
  momentOfBilling('due_at', 'billed.due_at', 'billed.due_at IS NOT NULL'),
  // One that is pending may not have heard of its charge's end yet.
  {
    by: 'charge',
    column: 'status',
    stands: 'b.status',
    said: 'c.status',
    known: `CASE b.status WHEN 'successful' THEN true WHEN 'skipped' THEN c.status IS NOT NULL
      WHEN 'pending' THEN c.status IS NULL ELSE c.status IS DISTINCT FROM 'declined' END`,
  },
  {
    by: 'charge',
    column: 'reason',
    stands: 'b.reason',
    said: 'c.decline_reason',
    known: `b.status IN ('retrying', 'failed') AND c.status = 'declined'`,
  },
  {
    by: 'charge',
    column: 'attempts',
    stands: 'b.attempts',
    said: 'coalesce(c.attempt, 0)',
    known: 'b.n IS NOT NULL',
  },
];

/**
 * By the events `e` of a schedule: how it stands, whether it is paused, and of which billing both
 * sides have been told beforehand. Of one that will be of another amount they are told again.
 */
export const STANDING = `, (array_agg(CASE e.type WHEN 'schedule.created' THEN 'active' ELSE e.details->>'status' END
          ORDER BY e.sequence DESC) FILTER (
          WHERE e.type NOT LIKE 'schedule.billing%' AND e.type NOT IN ('schedule.notice_given', 'schedule.announced')))[1] AS status,
        coalesce((array_agg(e.type ORDER BY e.sequence DESC) FILTER (
          WHERE e.type IN ('schedule.paused', 'schedule.resumed')))[1] = 'schedule.paused', false) AS paused,
        (array_agg(CASE e.type WHEN 'schedule.notice_given' THEN e.details->>'n' END ORDER BY e.sequence DESC) FILTER (
          WHERE e.type = 'schedule.notice_given'
            OR (e.type = 'schedule.changed' AND e.details->'changed' ? 'amount')))[1] AS noticed_n`;

/** Of each schedule of a page its billings: what their last events say, and their last charges. */
export const BILLED = `
    billed AS (
      SELECT page.id, (e.details->>'n')::int AS n,
        (array_agg(e.type ORDER BY e.sequence DESC))[1] AS type,
        (array_agg(e.details ORDER BY e.sequence DESC))[1] AS last,
        count(*) FILTER (WHERE e.type = 'schedule.billing_charged') AS attempts,
        min(e.business_at) FILTER (WHERE e.type = 'schedule.billing_charged') AS first_attempt_at,
        -- The row has that of its first attempt; a zone that was corrected since makes another.
        min((e.details->>'dueAt')::timestamptz) FILTER (
          WHERE e.type = 'schedule.billing_skipped' OR e.details->>'attempt' = '1') AS due_at,
        max(e.business_at) FILTER (WHERE e.type IN (${anyOf(BILLING_ENDS)})) AS closed_at,
        max(e.sequence) AS latest
      FROM page JOIN events e ON e.resource_id = page.id
      WHERE e.type IN (${anyOf(['schedule.billing_charged', 'schedule.billing_retrying', ...BILLING_ENDS])}) GROUP BY page.id, 2),
    charged AS (
      SELECT DISTINCT ON (r.schedule_id, r.billing_n) r.schedule_id, r.billing_n, r.attempt, r.status, r.decline_reason
      FROM page JOIN billing_requests r ON r.schedule_id = page.id ORDER BY r.schedule_id, r.billing_n, r.attempt DESC),
    paid AS (SELECT id, max(latest) AS latest FROM billed WHERE type = 'schedule.billing_successful' GROUP BY id),
    come AS (
      SELECT page.id, coalesce(max(billed.n), -1) + 1 AS next_n,
        count(*) FILTER (WHERE billed.type IN ('schedule.billing_successful', 'schedule.billing_failed')) AS ran,
        count(*) FILTER (WHERE billed.type = 'schedule.billing_failed' AND billed.latest > coalesce(paid.latest, 0))
          AS failed_in_a_row
      FROM page LEFT JOIN billed USING (id) LEFT JOIN paid USING (id) GROUP BY page.id)`;

export const BILLINGS_DIFFER = `
      SELECT coalesce(billed.id, b.schedule_id), ${fault('other_billing', {
        n: 'coalesce(billed.n, b.n) + 1',
        by: 'said.by',
        of: 'said.of',
        said: 'said.said',
        stands: 'said.stands',
      })}
      FROM billed FULL JOIN (SELECT g.* FROM page JOIN billings g ON g.schedule_id = page.id) AS b
          ON b.schedule_id = billed.id AND b.n = billed.n
        LEFT JOIN charged c ON c.schedule_id = b.schedule_id AND c.billing_n = b.n, LATERAL (VALUES ${OF_BILLING.map(
          ({ by, column, stands, said, known }) =>
            `('${by}', '${column}', (${stands})::text, (${said})::text, ${known})`,
        ).join(', ')}) AS said (by, of, stands, said, known)
      -- Nearly none of them differs: a row of its own for each column would take most of the time.
      WHERE (${OF_BILLING.map(({ stands, said, known }) => `(${known}) AND ${stands} IS DISTINCT FROM ${said}`).join(' OR ')})
        AND said.known AND said.stands IS DISTINCT FROM said.said`;

export const HOW_FAR_DIFFERS = `
      SELECT page.id, ${fault('other_value', { of: 'said.of', said: 'said.said', stands: 'said.stands' })}
      FROM page JOIN come USING (id), LATERAL (VALUES ${['next_n', 'ran', 'failed_in_a_row']
        .map((column) => `('${column}', page.${column}, come.${column})`)
        .join(', ')}) AS said (of, stands, said)
      WHERE said.stands <> said.said`;
