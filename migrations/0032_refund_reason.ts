import type { Knex } from 'knex';

/**
 * What a bank wrote about a rejected refund in its own words may speak of a person. It stays with
 * the refund, where it can be erased, and goes from the events, which are kept for good.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE events DISABLE TRIGGER events_are_append_only;
    UPDATE events e SET details = jsonb_set(e.details, '{declineReason}', '"other"')
      FROM refunds r WHERE e.resource_id = r.id AND r.status = 'rejected' AND e.type = 'refund.rejected'
        AND e.details->>'declineReason' NOT IN ('expired', 'not_delivered', 'denied', 'suspended', 'limit_reached',
          'insufficient_funds', 'temporarily_unavailable');
    ALTER TABLE events ENABLE TRIGGER events_are_append_only;
  `);
}

export async function down(): Promise<void> {
  // What was taken away stays away.
}
