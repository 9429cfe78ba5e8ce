import { BILLED, BILLINGS_DIFFER, HOW_FAR_DIFFERS, STANDING } from './billing-trail';
import { UNCLAIMED, UNCLAIMED_BY_EXCEPTIONS } from './claimed';
import {
  anyOf,
  comparePages,
  dayOf,
  fault,
  found,
  isWhole,
  onDays,
  type Compared,
  type Range,
} from './compared';
import type { Database } from './connection';
import { contentDiffers, contentSaid } from './content';
import { hasNoRow } from './resource';

/**
 * Compares rows with the trail of their transitions, which is chained: how many there were, where
 * they have led to, whether what the window decides was decided in it, and each of its columns.
 */

/** Rows of a page: a tenth of a second of Postgres, or less. */
const PAGE = 1_000;
/** The same of schedules, which have some events for each of up to 10 000 billings. */
const PAGE_OF_SCHEDULES = 20;

/** Of those that are of these types, the details of the last. */
const lastOf = (types: string[]) =>
  `(array_agg(e.details ORDER BY e.sequence DESC) FILTER (WHERE e.type IN (${anyOf(types)})))[1]`;

/**
 * Of each row of a page: its transitions, counted, what its first one and the one that ends it say,
 * and when they were.
 */
const trailOf = (ends: string[], more = '') => `
    trail AS (
      SELECT page.id, count(e.id)::int AS transitions, coalesce(max(e.sequence), 0) AS latest,
        coalesce(string_agg(e.type, ', ' ORDER BY e.sequence) FILTER (WHERE e.type IN (${anyOf(ends)})), '') AS ended,
        (array_agg(e.details) FILTER (WHERE e.sequence = 1))[1] AS begun,
        min(e.business_at) FILTER (WHERE e.sequence = 1) AS begun_at,
        ${lastOf(ends)} AS finish,
        max(e.business_at) FILTER (WHERE e.type IN (${anyOf(ends)})) AS finished_at${more}
      FROM page LEFT JOIN events e ON e.resource_id = page.id GROUP BY page.id)`;

const COUNTED = `
      SELECT page.id, ${fault('count_differs', { sequence: 'page.sequence', transitions: 'trail.transitions', latest: 'trail.latest' })}
      FROM page JOIN trail USING (id) WHERE (page.sequence, page.sequence) <> (trail.transitions, trail.latest)`;

const ended = (status: string, open: string) => `
      SELECT page.id, ${fault('other_end', { status, ended: 'trail.ended' })}
      FROM page JOIN trail USING (id) WHERE trail.ended <> ${open}`;

/** A column of the row, and the same value in the trail; a trail may lack it. */
interface Said {
  column: string;
  stands?: string;
  said: string;
  known: string;
}

const differing = (columns: Said[]) => `
      SELECT page.id, ${fault('other_value', { of: 'said.of', said: 'said.said', stands: 'said.stands' })}
      FROM page JOIN trail USING (id), LATERAL (VALUES ${columns
        .map(
          ({ column, stands = `page.${column}`, said, known }) =>
            `('${column}', (${stands})::text, (${said})::text, ${known})`,
        )
        .join(', ')}) AS said (of, stands, said, known)
      WHERE said.known AND said.stands IS DISTINCT FROM said.said`;

const fieldOf =
  (details: string) =>
  (column: string, key: string): Said => ({
    column,
    said: `trail.${details}->>'${key}'`,
    known: `trail.${details} ? '${key}'`,
  });
const begunWith = fieldOf('begun');
const endedWith = fieldOf('finish');

/** An event has its moment in milliseconds. */
const moment = (column: string, said: string): Said => ({
  column,
  stands: `date_trunc('milliseconds', page.${column})`,
  said: `date_trunc('milliseconds', ${said})`,
  known: `${said} IS NOT NULL`,
});
const ENDED_AT = moment('closed_at', 'trail.finished_at');

/** A reason in a bank's own words is not written down. */
const reason = (column: string): Said => ({
  column,
  said: `trail.finish->>'declineReason'`,
  known: `trail.finish ? 'declineReason' AND trail.finish->>'declineReason' IS DISTINCT FROM 'other'`,
});

/** The row names the same parties as the row that it belongs to. */
const ofOthers = (of: string, id: string, columns: string[]) => `
      SELECT page.id, ${fault('other_parties', { column: `'${id}'`, value: 'o.id' })}
      FROM page JOIN ${of} o ON o.id = page.${id}
      WHERE (${columns.map((one) => `page.${one}`).join(', ')}) IS DISTINCT FROM (${columns.map((one) => `o.${one}`).join(', ')})`;

/** What was agreed on, which the first versions wrote down by another name. */
const TERMS = `coalesce(e.details->'terms', e.details->'approved')`;

const OPENED = ['exception.opened', 'exception.updated'];
const openedWith = fieldOf('opened');

const PAGES = {
  chargeTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, sequence, closed_by, decline_reason, closed_at, expires_at, recorded_at, held_amount, amount, currency,
        schedule_id, billing_n, bank_id, bank_transaction_id
      FROM billing_requests WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(
      ['billing_request.successful', 'billing_request.declined'],
      // What is declined at once is so by the network, whoever has asked.
      `, max(e.cause) FILTER (WHERE e.sequence > 1 AND e.type IN ('billing_request.successful', 'billing_request.declined')) AS closed_by
        ${contentSaid('billing_requests')}`,
    )},
    held AS (
      SELECT page.id, page.held_amount AS amount, coalesce(sum(x.held), 0) AS known
      FROM page LEFT JOIN reconciliation_exceptions x ON x.billing_request_id = page.id GROUP BY page.id, page.held_amount)
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'pending' THEN '' ELSE 'billing_request.' || page.status END`)}
      UNION ALL
      ${differing([
        begunWith('amount', 'amount'),
        begunWith('currency', 'currency'),
        { column: 'schedule_id', said: `trail.begun->>'scheduleId'`, known: `trail.begun ? 'amount'` },
        { column: 'billing_n', said: `trail.begun->>'n'`, known: `trail.begun ? 'amount'` },
        endedWith('bank_transaction_id', 'bankTransactionId'),
        reason('decline_reason'),
        { column: 'closed_by', said: 'trail.closed_by', known: 'trail.closed_by IS NOT NULL' },
        ENDED_AT,
      ])}
      UNION ALL
      ${UNCLAIMED}
      UNION ALL
      ${contentDiffers('billing_requests')}
      UNION ALL
      SELECT id, ${fault('closed_late', { closedAt: 'closed_at', expiresAt: 'expires_at' })}
      FROM page WHERE closed_by = 'bank' AND closed_at >= expires_at
      UNION ALL
      SELECT id, ${fault('closed_early', { closedAt: 'closed_at', expiresAt: 'expires_at' })}
      FROM page WHERE decline_reason IN ('expired', 'not_delivered') AND closed_by = 'network' AND closed_at < expires_at
      UNION ALL
      SELECT id, ${fault('amount_held_differs', { amount: 'amount', known: 'known' })} FROM held WHERE amount <> known) AS d (id, wrong, facts)`,
  refundTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, sequence, recorded_at, closed_at, amount, currency, billing_request_id, bank_id, bank_transaction_id,
        reject_reason, merchant_id, customer_id, reminders, returned_at, return_transaction_id, return_reference, returned_by
      FROM refunds WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(
      ['refund.completed', 'refund.rejected'],
      `, count(*) FILTER (WHERE e.type IN ('refund.overdue', 'refund.reminded')) AS reminders,
        ${lastOf(['refund.returned'])} AS returned, max(e.business_at) FILTER (WHERE e.type = 'refund.returned') AS returned_at
        ${contentSaid('refunds')}`,
    )}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'pending' THEN '' WHEN 'returned' THEN 'refund.completed' ELSE 'refund.' || page.status END`)}
      UNION ALL
      ${differing([
        begunWith('amount', 'amount'),
        begunWith('currency', 'currency'),
        begunWith('billing_request_id', 'billingRequestId'),
        {
          column: 'returned_at',
          stands: `date_trunc('milliseconds', page.returned_at)`,
          said: `date_trunc('milliseconds', trail.returned_at)`,
          known: 'true',
        },
        fieldOf('returned')('return_transaction_id', 'transactionId'),
        fieldOf('returned')('return_reference', 'returnReference'),
        fieldOf('returned')('returned_by', 'exceptionId'),
        endedWith('bank_transaction_id', 'bankTransactionId'),
        reason('reject_reason'),
        { column: 'reminders', said: 'trail.reminders', known: 'true' },
        ENDED_AT,
      ])}
      UNION ALL
      ${contentDiffers('refunds')}
      UNION ALL
      ${UNCLAIMED}
      UNION ALL
      ${ofOthers('billing_requests', 'billing_request_id', ['merchant_id', 'bank_id', 'customer_id'])}) AS d (id, wrong, facts)`,
  // What took the money back is said by the end of the exception that each follows.
  reversalTrails: `
    WITH scope AS MATERIALIZED (
      SELECT transaction_id AS id, reference, exception_id, billing_request_id, amount, currency, bank_transaction_id, created_at,
        recorded_at, bank_id, customer_id, merchant_id, payee_customer_id, payee_bank_id, 1 AS sequence
      FROM reversals WHERE transaction_id > :after ORDER BY transaction_id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(
      ['reversal.completed'],
      `, (SELECT c.details FROM events c JOIN reversals v ON v.transaction_id = page.id
         WHERE c.resource_id = v.billing_request_id AND c.type = 'billing_request.reversed'
           AND c.details->>'reversalReference' = v.reference) AS of_charge,
        (SELECT x.details FROM events x JOIN reversals v ON v.transaction_id = page.id
         WHERE x.resource_id = v.exception_id AND x.type = 'exception.resolved' ORDER BY x.sequence DESC LIMIT 1) AS of_exception
        ${contentSaid('reversals')}`,
    )}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${differing([
        endedWith('amount', 'amount'),
        endedWith('currency', 'currency'),
        endedWith('reference', 'reversalReference'),
        moment('created_at', 'trail.finished_at'),
        { column: 'exception_id', said: `trail.of_charge->>'exceptionId'`, known: 'true' },
        fieldOf('of_exception')('bank_transaction_id', 'bankTransactionId'),
      ])}
      UNION ALL
      ${contentDiffers('reversals')}
      UNION ALL
      ${ofOthers('billing_requests', 'billing_request_id', ['merchant_id', 'bank_id', 'customer_id', 'payee_customer_id', 'payee_bank_id'])}) AS d (id, wrong, facts)`,
  exceptionTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, state AS status, kind, resolution, amount, currency, sequence, recorded_at, opened_at, resolved_at,
        billing_request_id, refund_id, outcome, bank_transaction_id, direction, booked_amount, booked_currency, bank_note, operator_note,
        reversal_bank_transaction_id, bank_id, merchant_id, provider_id, payee_bank_id, customer_id, reference, owner
      FROM reconciliation_exceptions WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(
      ['exception.resolved'],
      `, ${lastOf(OPENED)} AS opened, coalesce(bool_or(e.type = 'exception.investigating'), false) AS taken,
        coalesce(bool_or(e.cause = 'bank' AND e.type = 'exception.resolved'), false) AS ended_by_bank,
        coalesce(bool_or(e.cause = 'operator'), false) AS worked_on
        ${contentSaid('reconciliation_exceptions')}`,
    )}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'resolved' THEN 'exception.resolved' ELSE '' END`)}
      UNION ALL
      ${differing([
        {
          column: 'state',
          stands: 'page.status',
          said: `CASE WHEN trail.taken THEN 'investigating' ELSE 'open' END`,
          known: `page.status <> 'resolved'`,
        },
        // Who has taken it is on the record of acts; before that was so, nobody in particular.
        {
          column: 'owner',
          said: `coalesce(
            (SELECT a.after->>'owner' FROM audit_events a
             WHERE a.after->>'exceptionId' = page.id AND a.action = 'exception.taken' ORDER BY a.id DESC LIMIT 1),
            CASE page.owner WHEN 'operator' THEN page.owner END)`,
          known: 'true',
        },
        moment('opened_at', 'trail.begun_at'),
        moment('resolved_at', 'trail.finished_at'),
        endedWith('resolution', 'resolution'),
        endedWith('reversal_bank_transaction_id', 'bankTransactionId'),
        openedWith('kind', 'kind'),
        openedWith('amount', 'amount'),
        openedWith('currency', 'currency'),
        openedWith('bank_id', 'bankId'),
        openedWith('billing_request_id', 'billingRequestId'),
        openedWith('refund_id', 'refundId'),
        openedWith('outcome', 'outcome'),
        openedWith('bank_transaction_id', 'bankTransactionId'),
        openedWith('direction', 'direction'),
        openedWith('booked_amount', 'bookedAmount'),
        openedWith('booked_currency', 'bookedCurrency'),
        { column: 'bank_note', said: 'NULL', known: 'NOT trail.ended_by_bank' },
        { column: 'operator_note', said: 'NULL', known: 'NOT trail.worked_on' },
      ])}
      UNION ALL
      ${contentDiffers('reconciliation_exceptions')}
      UNION ALL
      ${UNCLAIMED_BY_EXCEPTIONS}
      UNION ALL
      ${ofOthers('billing_requests', 'billing_request_id', ['merchant_id', 'bank_id', 'customer_id', 'provider_id', 'payee_bank_id'])}) AS d (id, wrong, facts)`,
  intentTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, reason, customer_decision, agreement_id, currency, closed_at, sequence, recorded_at, merchant_id, bank_id,
        customer_id
      FROM intents WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(['intent.approved', 'intent.declined', 'intent.superseded'], contentSaid('intents'))}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'pending' THEN '' ELSE 'intent.' || page.status END`)}
      UNION ALL
      ${differing([
        begunWith('agreement_id', 'agreementId'),
        begunWith('currency', 'currency'),
        endedWith('reason', 'reason'),
        endedWith('customer_decision', 'customerDecision'),
        ENDED_AT,
      ])}
      UNION ALL
      ${contentDiffers('intents')}
      UNION ALL
      ${ofOthers('agreements', 'agreement_id', ['merchant_id', 'bank_id', 'customer_id'])}) AS d (id, wrong, facts)`,
  scheduleTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, sequence, recorded_at, agreement_id, amount, currency, frequency, every, start_at, end_at, max_billings,
        merchant_id, bank_id, customer_id, next_n, ran, failed_in_a_row, paused, noticed_n
      FROM schedules WHERE id > :after ORDER BY id LIMIT ${PAGE_OF_SCHEDULES}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(
      ['schedule.completed', 'schedule.cancelled', 'schedule.failed'],
      STANDING +
        ['amount', 'endDate', 'maxBillings']
          .map(
            (key) =>
              `, (array_agg(e.details ORDER BY e.sequence DESC)
          FILTER (WHERE e.type IN ('schedule.created', 'schedule.changed') AND e.details ? '${key}'))[1] AS "of_${key}"`,
          )
          .join('') +
        contentSaid('schedules'),
    )},
    ${BILLED}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE WHEN page.status IN ('completed', 'cancelled', 'failed') THEN 'schedule.' || page.status ELSE '' END`)}
      UNION ALL
      ${differing([
        begunWith('agreement_id', 'agreementId'),
        begunWith('currency', 'currency'),
        begunWith('frequency', 'frequency'),
        begunWith('every', 'interval'),
        moment('start_at', `(trail.begun->>'startAt')::timestamptz`),
        // The first versions wrote it in major units, as a number.
        {
          ...fieldOf('"of_amount"')('amount', 'amount'),
          known: `jsonb_typeof(trail."of_amount"->'amount') = 'string'`,
        },
        fieldOf('"of_maxBillings"')('max_billings', 'maxBillings'),
        {
          ...moment('end_at', `(trail."of_endDate"->>'endDate')::timestamptz`),
          known: `trail."of_endDate" IS NOT NULL`,
        },
        { column: 'status', said: 'trail.status', known: 'trail.status IS NOT NULL' },
        { column: 'paused', said: 'trail.paused', known: 'true' },
        { column: 'noticed_n', said: 'trail.noticed_n', known: 'true' },
      ])}
      UNION ALL
      ${contentDiffers('schedules')}
      UNION ALL
      ${HOW_FAR_DIFFERS}
      UNION ALL
      ${BILLINGS_DIFFER}
      UNION ALL
      ${ofOthers('agreements', 'agreement_id', ['merchant_id', 'bank_id', 'customer_id'])}) AS d (id, wrong, facts)`,
  // One begins without an event, and with no decision and no limits.
  agreementTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, sequence, decision, blocked, currency, daily_limit, monthly_limit
      FROM agreements WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope),
    trail AS (
      SELECT page.id, count(e.id)::int + 1 AS transitions, coalesce(max(e.sequence), 1) AS latest,
        ${lastOf(['agreement.decided'])} AS decided,
        (array_agg(${TERMS} ORDER BY e.sequence DESC) FILTER (WHERE ${TERMS} IS NOT NULL))[1] AS terms
        ${contentSaid('agreements')}
      FROM page LEFT JOIN events e ON e.resource_id = page.id GROUP BY page.id)
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${differing([
        { column: 'decision', said: `coalesce(trail.decided->>'decision', 'pending')`, known: 'true' },
        { column: 'blocked', said: `coalesce((trail.decided->>'blocked')::boolean, false)`, known: 'true' },
        fieldOf('terms')('currency', 'currency'),
        { column: 'daily_limit', said: `trail.terms->>'dailyLimit'`, known: 'true' },
        { column: 'monthly_limit', said: `trail.terms->>'monthlyLimit'`, known: 'true' },
      ])}
      UNION ALL
      ${contentDiffers('agreements')}) AS d (id, wrong, facts)`,
  // What was taken away with all that it was compared by.
  trails: `
    WITH scope AS MATERIALIZED (
      SELECT id, resource_id, recorded_at FROM events WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))})
    ${found('max(id)')} (
      SELECT DISTINCT resource_id AS id, ${fault('trail_of_nothing')} FROM page
      WHERE ${hasNoRow('resource_id', ['brq_', 'rfd_', 'exc_', 'int_', 'sch_', 'agr_'])}) AS d (id, wrong, facts)`,
};

/** Compares all there is, or what was written down on some days, page by page. */
export async function* compareTrails(db: Database, range: Range): AsyncGenerator<Compared, void, undefined> {
  for (const check of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
    // What was decided of an agreement has no day that is over.
    if (check === 'agreementTrails' && !isWhole(range)) continue;
    yield* comparePages(db, check, PAGES[check], range);
  }
}
