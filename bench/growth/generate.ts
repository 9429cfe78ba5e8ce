import type { Client } from 'pg';
import { onDatabase } from '../../src/database/pool/one-connection';
import { openDatabase } from '../../src/database/pool/connection';
import { createEntity } from '../../src/database/entity/create-entity';
import { withoutIndexes } from './bulk';
import type { Server } from './server';

/**
 * Two years of a network, by SQL. Rows are spread evenly over the time and lie in its order, as
 * they would had they been written one by one; merchants and banks are few huge ones and many small
 * ones (the share of the first of m is m^(-1/4): of 5 000 merchants 12 %, of 20 banks 47 %).
 */
export interface Volume {
  banks: number;
  providers: number;
  merchants: number;
  schedules: number;
  charges: number;
  idempotencyKeys: number;
  devices: number;
}

export function volume(scale: number): Volume {
  const of = (full: number) => Math.round(full * scale);
  return {
    banks: 20,
    providers: 10,
    merchants: Math.max(50, of(5_000)),
    schedules: of(1_000_000),
    charges: of(9_800_000),
    idempotencyKeys: of(1_000_000),
    devices: of(200_000),
  };
}

/** Loaded without indexes; the others are small. */
const BIG = [
  'customers',
  'agreements',
  'intents',
  'schedules',
  'billings',
  'billing_requests',
  'refunds',
  'bank_transactions',
  'events',
  'webhook_deliveries',
  'webhook_attempts',
  'idempotency_keys',
];

export async function generate(server: Server, sizes: Volume, say: (line: string) => void): Promise<void> {
  await makeEntities(server, sizes);
  await onDatabase(server.superuserUrl, async (client) => {
    const kid = server.facts.keyring.current;
    // No triggers: what they would write is written here.
    await client.query('SET session_replication_role = replica; SET search_path = public, growth');
    const step = async (name: string, sql: string) => {
      const start = performance.now();
      const { rowCount } = await client.query(sql);
      say(`  ${name}: ${rowCount ?? 0} rows (${((performance.now() - start) / 1000).toFixed(0)} s)`);
    };
    await client.query(FUNCTIONS);
    await burnTransactionIds(client, Math.ceil(sizes.charges / 100));
    await withoutIndexes(client, BIG, say, async () => {
      for (const [name, sql] of steps(sizes, kid)) await step(name, sql);
    });
    await client.query('DROP SCHEMA growth CASCADE');
    await client.query('VACUUM (ANALYZE)');
  });
}

/** By the engine's own hand: their webhook secrets are encrypted. */
async function makeEntities(server: Server, { banks, providers, merchants }: Volume): Promise<void> {
  const db = openDatabase(server.databaseUrl, 4, server.facts);
  try {
    await db.transaction(async (trx) => {
      const make = async (type: 'bank' | 'merchant' | 'provider', n: number, providerId?: string) => {
        const webhookUrl = `https://${type}-${n}.example/hooks`;
        const made = await createEntity(trx, { type, name: `${type} ${n}`, webhookUrl, providerId });
        if (!made) throw new Error('an entity was not made');
        return made.entityId;
      };
      for (let n = 0; n < banks; n++) await make('bank', n);
      const made: string[] = [];
      for (let n = 0; n < providers; n++) made.push(await make('provider', n));
      // The first provider has every third merchant, large ones among them; the others have a
      // hundred between them.
      for (let n = 0; n < merchants; n++) {
        await make(
          'merchant',
          n,
          n % 3 === 2 ? made[0] : n % 50 === 1 ? made[1 + (n % (providers - 1))] : undefined,
        );
      }
      await trx.query(
        `WITH recorded AS (
           INSERT INTO audit_events (actor, action, entity_id)
           SELECT 'operator:growth', 'entity.trust_set', id FROM entities WHERE type = 'merchant')
         UPDATE entities SET trust_level = 'trusted' WHERE type = 'merchant'`,
      );
    });
  } finally {
    await db.destroy();
  }
}

/** So that deliveries can name transactions that have been, about a hundred to each. */
async function burnTransactionIds(client: Client, count: number): Promise<void> {
  await client.query(`
    CREATE PROCEDURE growth.burn(times int) LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 1..times LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`);
  await client.query(`CALL growth.burn(${count})`);
}

/**
 * \`chance\`: in [0, 1), the same for the same n and seed. \`stamp\`: the beginning of a TypeID of
 * that moment.
 */
const FUNCTIONS = `
  CREATE SCHEMA growth;
  CREATE FUNCTION growth.chance(n bigint, seed bigint) RETURNS float8 LANGUAGE sql IMMUTABLE
    RETURN (hashint8extended(n, seed) & 16777215) / 16777216.0::float8;
  CREATE FUNCTION growth.stamp(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN ${Array.from({ length: 10 }, (_, i) => `substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> ${45 - 5 * i}) & 31)::int + 1, 1)`).join(' || ')};
`;

const at = (fraction: string) => `clock - interval '2 years' * (1 - (${fraction}))`;
const ms = (moment: string) => `(extract(epoch FROM ${moment}) * 1000)::bigint`;

function steps(
  { banks, merchants, schedules, charges, idempotencyKeys, devices }: Volume,
  kid: string,
): [string, string][] {
  const customers = Math.ceil(schedules / 2);
  const lastDelivered = Math.floor(charges * 0.9998);
  // Half of the charges still have what was told of them.
  const told = Math.floor(charges / 2);
  const xids = Math.ceil(charges / 100);
  return [
    [
      'parties',
      `CREATE TABLE growth.merchants AS
         SELECT row_number() OVER (ORDER BY id) - 1 AS i, id, provider_id FROM entities WHERE type = 'merchant';
       CREATE TABLE growth.banks AS
         SELECT row_number() OVER (ORDER BY id) - 1 AS i, id FROM entities WHERE type = 'bank';
       INSERT INTO customer_batches (id, bank_id, status, total, successful)
         SELECT 'bat_0000000000' || lpad(i::text, 16, '0'), id, 'completed', 1, 1 FROM growth.banks;
       CREATE TABLE growth.now AS SELECT clock_timestamp() AS clock;
       ANALYZE growth.merchants; ANALYZE growth.banks`,
    ],
    [
      'customers',
      `INSERT INTO customers (id, bank_id, batch_id, lookup_id, client_ref, firstname, lastname, account_name, country,
         email_encrypted, email_index, account_number_encrypted, account_number_index, created_at)
       SELECT 'cus_' || growth.stamp(${ms('at')}) || left(md5('c' || n), 16), b.id, 'bat_0000000000' || lpad(b.i::text, 16, '0'),
         translate(to_hex(n), '0123456789', 'ghijklmnop') || '-growth-of-tables-' || lpad((n % 100)::text, 2, '0'),
         'ref-' || n, first, last, first || ' ' || last, 'NG',
         decode(repeat(md5(n::text), 4), 'hex'), sha256(('e' || n)::bytea), decode(repeat(md5(n::text), 3), 'hex'),
         sha256(('a' || n)::bytea), at
       FROM generate_series(0, ${customers - 1}) AS n, growth.now,
         growth.banks b,
         LATERAL (SELECT ${at(`n / ${customers}::float8 / 10`)} AS at,
           initcap(translate(left(md5('f' || (n % 997)), 7), '0123456789', 'aeioubdlmn')) AS first,
           initcap(translate(left(md5('l' || floor(4000 * growth.chance(n, 7) ^ 2)), 8), '0123456789', 'aeioubdlmn')) AS last) AS x
       WHERE b.i = floor(${banks} * growth.chance(n, 1) ^ 4)`,
    ],
    [
      'parts of agreements',
      `CREATE TABLE growth.customers AS SELECT split_part(client_ref, '-', 2)::int AS i, id, bank_id, lookup_id FROM customers;
       CREATE TABLE growth.agreements AS
       SELECT j, 'agr_' || growth.stamp(${ms('at')}) || left(md5('g' || j), 16) AS id,
         'sch_' || growth.stamp(${ms('at')}) || left(md5('s' || j), 16) AS schedule_id,
         'int_' || growth.stamp(${ms('at')}) || left(md5('i' || j), 16) AS intent_id,
         m.id AS merchant_id, m.provider_id, c.id AS customer_id, c.bank_id, c.lookup_id, at,
         CASE WHEN growth.chance(j, 3) < 0.85 THEN 'approve_recurring' WHEN growth.chance(j, 3) < 0.93 THEN 'approve_once'
              WHEN growth.chance(j, 3) < 0.96 THEN 'deny' WHEN growth.chance(j, 3) < 0.98 THEN 'suspended' ELSE 'pending' END AS decision
       FROM generate_series(0, ${schedules - 1}) AS j, growth.now, growth.customers c, growth.merchants m,
         LATERAL (SELECT ${at(`0.1 * j / ${schedules}::float8`)} AS at) AS x
       WHERE c.i = j % ${customers} AND m.i =
           (floor(${merchants} * growth.chance(j % ${customers}, 2) ^ 4)::int + j / ${customers}) % ${merchants};
       ANALYZE growth.agreements`,
    ],
    [
      'agreements',
      `INSERT INTO agreements (id, merchant_id, customer_id, bank_id, decision, currency, limits.daily, limits.monthly,
         payment_id_key, created_at, updated_at)
       SELECT id, merchant_id, customer_id, bank_id, decision, 'NGN', 100000000, 1000000000, '${kid}', at, at
       FROM growth.agreements ORDER BY j`,
    ],
    [
      'intents',
      `INSERT INTO intents (id, reference, agreement_id, merchant_id, customer_id, bank_id, lookup_id, batch_id, currency,
         description, status, customer_decision, decided_before, expires_at, closed_at, workflow_id, created_at,
         recorded_at)
       SELECT intent_id, upper(left(md5('int' || j), 24)), id, merchant_id, customer_id, bank_id, lookup_id,
         'bat_' || right(intent_id, 26), 'NGN', 'Membership', CASE WHEN open THEN 'pending' ELSE 'approved' END,
         CASE WHEN NOT open THEN 'approve_recurring' END, 'pending', CASE WHEN open THEN clock ELSE at END + interval '1 day',
         CASE WHEN NOT open THEN at + interval '1 minute' END, 'intent/' || intent_id, at, at
       FROM (SELECT *, decision = 'pending' AS open FROM growth.agreements) AS a, growth.now ORDER BY j`,
    ],
    [
      'parts of charges',
      // Seventeen of twenty charges are of schedules, two on demand, one by lookupID.
      `CREATE UNLOGGED TABLE growth.charges AS
       SELECT n, at, growth.stamp(${ms('at')}) AS stamp, md5(n::text) AS hash, scheduled,
         CASE WHEN scheduled THEN m % ${schedules} ELSE floor(${schedules} * growth.chance(n, 4))::int END AS j,
         CASE WHEN scheduled THEN m / ${schedules} END AS billing_n, n % 20 = 19 AS once,
         (1 + floor(5000 * growth.chance(n, 5) ^ 3))::bigint * 1000 AS amount,
         CASE WHEN n >= ${lastDelivered} THEN 'pending' WHEN growth.chance(n, 6) < 0.88 THEN 'successful' ELSE 'declined' END AS status,
         CASE WHEN n < ${lastDelivered} AND growth.chance(n, 6) >= 0.88 THEN
           CASE WHEN growth.chance(n, 6) < 0.96 THEN 'insufficient_funds' WHEN growth.chance(n, 6) < 0.99 THEN 'customer_declined'
                ELSE 'expired' END END AS reason
       FROM (SELECT n, n / 20 * 17 + n % 20 AS m, n % 20 < 17 AS scheduled FROM generate_series(0, ${charges - 1}) AS n) AS s,
         growth.now, LATERAL (SELECT ${at(`0.1 + 0.9 * n / ${charges}::float8`)} AS at) AS x`,
    ],
    [
      'schedules',
      `INSERT INTO schedules (id, agreement_id, merchant_id, customer_id, bank_id, provider_id, amount, currency, description,
         frequency, every, start_at, status, suspended_reason, paused, next_n, next_due_at, ran, acts_at, waiting, created_at, updated_at, recorded_at)
       SELECT schedule_id, id, merchant_id, customer_id, bank_id, provider_id, 250000, 'NGN', 'Monthly membership', 'monthly', 3, at,
         status, CASE status WHEN 'suspended' THEN 'not_approved' END, status = 'paused', runs, CASE WHEN ended THEN NULL ELSE due END, runs, CASE WHEN ended THEN NULL ELSE due END,
         NOT ended, at, at, at
       FROM (SELECT a.*, c.count AS runs, clock + growth.chance(j, 9) * interval '90 days' AS due,
               CASE WHEN growth.chance(j, 8) < 0.8 THEN 'active' WHEN growth.chance(j, 8) < 0.9 THEN 'cancelled'
                    WHEN growth.chance(j, 8) < 0.95 THEN 'completed' WHEN growth.chance(j, 8) < 0.98 THEN 'paused'
                    WHEN growth.chance(j, 8) < 0.998 THEN 'suspended' ELSE 'past_due' END AS status,
               growth.chance(j, 8) BETWEEN 0.8 AND 0.95 AS ended
             FROM growth.agreements a JOIN (SELECT j AS of, count(*)::int AS count FROM growth.charges WHERE scheduled GROUP BY j) AS c
               ON c.of = a.j, growth.now) AS s ORDER BY j`,
    ],
    [
      'billings',
      `INSERT INTO billings (schedule_id, n, due_at, status, reason, attempts, first_attempt_at, closed_at)
       SELECT a.schedule_id, c.billing_n, c.at, CASE c.status WHEN 'declined' THEN 'failed' ELSE c.status END, c.reason, 1, c.at,
         CASE WHEN c.status <> 'pending' THEN c.at + interval '5 s' END
       FROM growth.charges c JOIN growth.agreements a USING (j) WHERE c.scheduled`,
    ],
    [
      'billing_requests',
      `INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, provider_id,
         lookup_id, agreement_id, schedule_id, billing_n, attempt, amount, currency, description, approval_required, status,
         closed_by, decline_reason, bank_transaction_id, expires_at, closed_at, sequence, workflow_id, bank_delivery_id,
         refunded_amount, created_at, recorded_at)
       SELECT 'brq_' || stamp || left(hash, 16), upper(left(md5('r' || n), 24)),
         'bat_' || stamp || left(hash, 16), merchant_id, customer_id, bank_id, provider_id, lookup_id, CASE WHEN NOT once THEN a.id END,
         CASE WHEN scheduled THEN schedule_id END, billing_n, CASE WHEN scheduled THEN 1 END, amount, 'NGN', 'Monthly membership',
         once, status, CASE WHEN status = 'pending' THEN NULL WHEN reason = 'expired' THEN 'network' ELSE 'bank' END, reason,
         CASE WHEN status = 'successful' THEN 'BT' || upper(left(hash, 20)) END, c.at + interval '1 day',
         CASE WHEN status <> 'pending' THEN c.at + interval '5 s' END, CASE WHEN status = 'pending' THEN 1 ELSE 2 END,
         CASE WHEN scheduled THEN 'recurring/' || schedule_id ELSE 'billing-request/brq_' || stamp || left(hash, 16) END,
         'dlv_' || stamp || left(hash, 15) || '0',
         CASE WHEN status = 'successful' AND n % 49 = 0 AND n % 980 <> 0 THEN amount ELSE 0 END, c.at, c.at
       FROM growth.charges c JOIN growth.agreements a USING (j)`,
    ],
    [
      'refunds',
      `INSERT INTO refunds (id, transaction_id, reference, billing_request_id, merchant_id, customer_id, bank_id, provider_id, amount,
         currency, status, reject_reason, bank_transaction_id, expected_by, closed_at, created_at, recorded_at)
       SELECT 'rfd_' || stamp || left(hash, 16), 'txn_' || stamp || right(hash, 16), upper(left(md5('rf' || n), 24)),
         'brq_' || stamp || left(hash, 16), merchant_id, customer_id, bank_id, provider_id, amount, 'NGN',
         CASE WHEN n % 980 = 0 THEN 'rejected' WHEN n % 9800 = 49 THEN 'pending' ELSE 'completed' END,
         CASE WHEN n % 980 = 0 THEN 'account_closed' END,
         CASE WHEN n % 980 <> 0 AND n % 9800 <> 49 THEN 'RT' || upper(left(hash, 20)) END, c.at + interval '5 days',
         CASE WHEN n % 9800 <> 49 THEN c.at + interval '2 days' END, c.at + interval '1 day', c.at
       FROM growth.charges c JOIN growth.agreements a USING (j) WHERE n % 49 = 0 AND status = 'successful'`,
    ],
    [
      'bank_transactions',
      `INSERT INTO bank_transactions SELECT bank_id, 'BT' || upper(left(hash, 20)), 'brq_' || stamp || left(hash, 16)
       FROM growth.charges JOIN growth.agreements a USING (j) WHERE status = 'successful'`,
    ],
    [
      'reconciliation_exceptions',
      `INSERT INTO reconciliation_exceptions (id, kind, billing_request_id, reference, merchant_id, customer_id, bank_id, provider_id,
         amount, currency, opened_at, recorded_at)
       SELECT 'exc_' || stamp || left(hash, 16), 'unanswered', 'brq_' || stamp || left(hash, 16), upper(left(md5('r' || n), 24)),
         merchant_id, customer_id, bank_id, provider_id, amount, 'NGN', c.at + interval '1 day', c.at + interval '1 day'
       FROM growth.charges c JOIN growth.agreements a USING (j) WHERE reason = 'expired' AND n % 10 = 0`,
    ],
    [
      'events',
      `INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at, recorded_at, commit_id)
       SELECT 'evt_' || stamp || left(hash, 15) || s, 'brq_' || stamp || left(hash, 16), s,
         CASE s WHEN 1 THEN 'billing_request.accepted' ELSE 'billing_request.' || status END,
         CASE WHEN s = 2 THEN 'bank' WHEN scheduled THEN 'network' ELSE 'merchant' END,
         jsonb_build_object('amount', amount::text, 'currency', 'NGN'), at, at, md5(n || ' ' || s)::uuid
       FROM growth.charges, generate_series(1, CASE WHEN n >= ${told} AND status <> 'pending' THEN 2 ELSE 1 END) AS s`,
    ],
    [
      'webhook_deliveries',
      // To the bank, and when it has answered to the merchant. One in a hundred of those was never
      // taken.
      `INSERT INTO webhook_deliveries (id, entity_id, webhook_type, batch_id, body_encrypted, status, workflow_id,
         attempts, created_xid, created_at, finished_at, commit_id)
       SELECT 'dlv_' || stamp || left(hash, 15) || s,
         CASE s WHEN 0 THEN bank_id ELSE merchant_id END, CASE s WHEN 0 THEN 'billing.request' ELSE 'billing.response' END,
         'bat_' || stamp || left(hash, 16), decode(repeat(hash, 38), 'hex'),
         CASE WHEN n >= ${lastDelivered} THEN 'pending' WHEN s = 1 AND n % 100 = 7 THEN 'failed' ELSE 'delivered' END,
         CASE WHEN scheduled THEN 'recurring/' || schedule_id ELSE 'billing-request/brq_' || stamp || left(hash, 16) END,
         CASE WHEN n >= ${lastDelivered} THEN 0 WHEN s = 1 AND n % 100 = 7 THEN 12 ELSE 1 END,
         (3 + n::bigint * ${xids} / ${charges})::text::xid8, c.at, CASE WHEN n < ${lastDelivered} THEN c.at + interval '1 s' END,
         md5(n || ' ' || s + 1)::uuid
       FROM growth.charges c JOIN growth.agreements a USING (j), generate_series(0, CASE WHEN status = 'pending' THEN 0 ELSE 1 END) AS s
       WHERE n >= ${told}`,
    ],
    [
      'webhook_attempts',
      `INSERT INTO webhook_attempts (delivery_id, n, at, duration_ms, http_status, error)
       SELECT d.id, s, d.created_at + s * interval '1 s', 40, CASE status WHEN 'failed' THEN 503 ELSE 200 END,
         CASE status WHEN 'failed' THEN 'HTTP 503' END
       FROM webhook_deliveries d, generate_series(1, attempts) AS s`,
    ],
    [
      'idempotency_keys',
      `INSERT INTO idempotency_keys (caller_id, path, key, request_hash, http_status, answer_encrypted, created_at, expires_at, commit_id)
       SELECT m.id, '/v1/customer/bill', gen_random_uuid(), sha256(n::text::bytea), 201, decode(repeat(md5(n::text), 20), 'hex'),
         clock - interval '7 days' * (1.01 - n / ${idempotencyKeys}::float8),
         clock - interval '7 days' * (0.01 - n / ${idempotencyKeys}::float8), md5('k' || n)::uuid
       FROM generate_series(0, ${idempotencyKeys - 1}) AS n, growth.now, growth.merchants m
       WHERE m.i = floor(${merchants} * growth.chance(n, 11) ^ 4)`,
    ],
    [
      'devices',
      `INSERT INTO devices (id, fingerprint_encrypted, fingerprint_index, token_key)
         SELECT 'dev_0000000000' || lpad(n::text, 16, '0'), '\\x01', sha256(n::text::bytea), '${kid}'
         FROM generate_series(0, ${devices - 1}) AS n;
       INSERT INTO device_holders (device_id, holder_id)
         SELECT 'dev_0000000000' || lpad(i::text, 16, '0'), bank_id FROM growth.customers WHERE i < ${devices};
       INSERT INTO device_links (device_id, bank_id, customer_id, phrase, linked_at)
         SELECT 'dev_0000000000' || lpad(i::text, 16, '0'), bank_id, id, lookup_id, clock - interval '1 s' * i
         FROM growth.customers, growth.now WHERE i < ${devices}`,
    ],
  ];
}
