import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { changeStatus } from '../../src/database/entity-control/control-entity';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { decrypt, encrypt } from '../../src/database/keyring/encrypt';
import { claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../src/database/webhook/list-deliveries';
import type { DeliveryProgress } from '../../src/domain/workflow/messages';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { OPERATOR } from '../support/operator';
import { broken, taken, webhookSender, type Received } from '../support/webhook-sender';
import { raw } from '../../src/database/pool/statement';

const database = databaseOfFile();
const { db } = database;
const sender = webhookSender(db);
beforeEach(() => sender.log.splice(0));
afterEach(() => sender.closeReceivers());
afterAll(() => sender.connector.close());

/** A receiver whose requests wait for what the test says. */
async function patientReceiver() {
  const held: ServerResponse[] = [];
  const { url, received } = await sender.receiver((response) => held.push(response));
  return {
    url,
    received,
    async holds(count: number): Promise<void> {
      while (held.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
    answer(how: (response: ServerResponse) => void): void {
      for (const response of held.splice(0)) how(response);
    },
  };
}

async function attemptsOf(deliveryId: string) {
  const attempts = await db.rows<{
    n: number;
    httpStatus: number | null;
    error: string | null;
    head: Buffer | null;
  }>`
    SELECT n, http_status AS "httpStatus", error, response_head_encrypted AS head FROM webhook_attempts
    WHERE delivery_id = ${deliveryId} ORDER BY n`;
  return attempts.map(({ head, ...one }) => ({
    ...one,
    head:
      head && decrypt(db.keyring, head, `webhook_attempts.response_head_encrypted:${deliveryId}/${one.n}`),
  }));
}

/** All that is in any table, as a dump has it. */
async function dump(): Promise<string> {
  const tables = await db.rows<{ name: string }>`
    SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
      AND has_table_privilege(format('%I.%I', table_schema, table_name), 'SELECT')`;
  const lines = await Promise.all(
    tables.map(({ name }) => db.rows<{ line: string }>`SELECT one::text AS line FROM ${raw(name)} AS one`),
  );
  return lines
    .flat()
    .map(({ line }) => line)
    .join('\n');
}

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const askAgain = (entityId: string, id: string) => db.transaction((trx) => redeliver(trx, entityId, id));
const setFailing = (entityId: string) =>
  db.rows`
  UPDATE webhook_endpoints SET failing_since = now() WHERE entity_id = ${entityId}`;
const retryInMs = (result: object) => (result as DeliveryProgress).retryInMs;

describe('a webhook as its receiver sees it', () => {
  it('is verified by any Standard Webhooks library, and by an HMAC over the bytes without `signature`', async () => {
    const { url, received } = await sender.receiver();
    const bank = await sender.bankAt(url);
    const [deliveryId] = await sender.announceTo([bank.entityId], 'billing-request/a');
    expect(await sender.activities().deliverFirstAttempts('billing-request/a', WEBHOOK_TYPES)).toMatchObject({
      delivered: 1,
      failed: 0,
      handedOver: 0,
    });

    const [{ headers, body }] = received as [Received];
    expect(() =>
      new Webhook(bank.webhookSecret).verify(body, headers as Record<string, string>),
    ).not.toThrow();
    expect(headers['x-service-signature']).toBe(hmac(bank.webhookSecret, body));
    const { signature } = JSON.parse(body) as { signature: string };
    expect(signature).toBe(hmac(bank.webhookSecret, body.replace(`,"signature":"${signature}"`, '')));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Assent/1',
      'x-service-event': 'billing.request',
      'x-service-delivery': deliveryId,
      'webhook-id': deliveryId,
    });
  });

  it('comes once, also where it is on its way already, from this worker or another', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    await sender.announceTo([bank.entityId], 'billing-request/twice');
    const [worker, other] = [sender.activities(), sender.activities()];
    const all = [worker, worker, other].map((one) =>
      one.deliverFirstAttempts('billing-request/twice', WEBHOOK_TYPES),
    );
    await slow.holds(1);
    slow.answer(taken);
    const counts = await Promise.all(all);
    expect(counts.reduce((sum, { delivered, handedOver }) => sum + delivered + handedOver, 0)).toBe(1);
    expect(slow.received).toHaveLength(1);
  });

  it('of a worker that died over it goes on in a workflow, which waits until it may be made again', async () => {
    const { url, received } = await sender.receiver();
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId], 'billing-request/died');
    await claimUnattempted(db, 'billing-request/died', 60_000, WEBHOOK_TYPES);
    expect(
      await sender.activities().deliverFirstAttempts('billing-request/died', WEBHOOK_TYPES),
    ).toMatchObject({
      handedOver: 1,
    });
    expect(await sender.startsOf(id)).toHaveLength(1);
    const result = await sender.activities().attemptDelivery(id);
    expect(result).toMatchObject({ status: 'pending', attempts: 0 });
    expect(retryInMs(result)).toBeGreaterThan(50_000);
    expect(received).toEqual([]);
  });

  it('is byte for byte the same each time, under the same id', async () => {
    let answers = 0;
    const { url, received } = await sender.receiver((response) =>
      ++answers < 3 ? broken(response) : taken(response),
    );
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId], 'billing-request/b');
    await sender.activities().deliverFirstAttempts('billing-request/b', WEBHOOK_TYPES);
    expect(await sender.attemptInTime(id)).toMatchObject({ status: 'pending', attempts: 2 });
    expect(await sender.attemptInTime(id)).toEqual({ status: 'delivered', attempts: 3 });
    expect(await sender.activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 3 });
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(await attemptsOf(id)).toEqual([
      { n: 1, httpStatus: 503, error: 'HTTP 503', head: 'down' },
      { n: 2, httpStatus: 503, error: 'HTTP 503', head: 'down' },
      { n: 3, httpStatus: 200, error: null, head: 'thanks' },
    ]);
  });
});

describe('first attempts', () => {
  it('that fail go on as workflows; those of a receiver known to be failing are not made', async () => {
    const down = await sender.receiver(broken);
    const up = await sender.receiver();
    const [failing, healthy] = [
      await sender.bankAt(down.url, 'Harbour'),
      await sender.bankAt(up.url, 'Palm'),
    ];
    const workflowId = 'billing-batch/d';
    const [failed] = await sender.announceTo([failing.entityId, healthy.entityId], workflowId);
    const first = sender.activities();
    const { told, ...counts } = await first.deliverFirstAttempts(workflowId, WEBHOOK_TYPES);
    expect(counts).toEqual({ delivered: 1, failed: 1, handedOver: 0 });
    expect(new Set(told)).toEqual(
      new Set([
        'billing.request delivered at attempt 1 to Palm.',
        `billing.request failed at attempt 1 (answered 503) to Harbour: see webhook-delivery/${failed}.`,
      ]),
    );

    // Announced before it was known to be failing, attempted after.
    const [left = ''] = await sender.announceTo([healthy.entityId], workflowId);
    await setFailing(healthy.entityId);
    expect(await first.deliverFirstAttempts(workflowId, WEBHOOK_TYPES)).toMatchObject({
      failed: 0,
      handedOver: 1,
    });
    expect(await sender.startsOf(left)).toHaveLength(1);
    // Announced after: it is not left to this workflow at all.
    const [own = ''] = await sender.announceTo([healthy.entityId], workflowId);
    expect(await first.deliverFirstAttempts(workflowId, WEBHOOK_TYPES)).toMatchObject({
      failed: 0,
      handedOver: 0,
    });
    expect(await sender.startsOf(own)).toHaveLength(1);
    expect(up.received).toHaveLength(1);
  });

  it('to a receiver that does not answer hold up nobody else', async () => {
    const dead = await patientReceiver();
    const healthy = await sender.receiver((response) => {
      taken(response);
      // Only now does the other one answer: were anybody waiting for it, it would be cut off.
      if (healthy.received.length === 20) dead.answer(broken);
    });
    const deadBank = await sender.bankAt(dead.url);
    const banks: string[] = [];
    for (let i = 0; i < 20; i++) banks.push((await sender.bankAt(healthy.url)).entityId);
    const [deadId = ''] = await sender.announceTo([deadBank.entityId, ...banks], 'billing-batch/f');
    expect(await sender.activities().deliverFirstAttempts('billing-batch/f', WEBHOOK_TYPES)).toMatchObject({
      delivered: 20,
      failed: 1,
      handedOver: 0,
    });
    expect(await attemptsOf(deadId)).toMatchObject([{ httpStatus: 503 }]);
  });

  it('that cannot be made at all, for a key is missing, go to workflows and leave the workflow in peace', async () => {
    const { url, received } = await sender.receiver();
    const [bank, other] = [await sender.bankAt(url), await sender.bankAt(url)];
    const [id = ''] = await sender.announceTo([bank.entityId, other.entityId], 'billing-batch/h');
    const place = `webhook_endpoints.secret:${bank.entityId}` as const;
    const encrypted = encrypt(readKeyring(makeKeyring()), bank.webhookSecret, place).toString('hex');
    await asSchemaLogin(
      database.url,
      `UPDATE webhook_endpoints SET secret_encrypted = '\\x${encrypted}' WHERE entity_id = '${bank.entityId}'`,
    );
    expect(await sender.activities().deliverFirstAttempts('billing-batch/h', WEBHOOK_TYPES)).toMatchObject({
      delivered: 1,
      failed: 0,
      handedOver: 1,
    });
    expect(received).toHaveLength(1);
    await expect(sender.activities().attemptDelivery(id)).rejects.toThrow('ASSENT_KEYS lacks the key');
  });

  it('end within seconds however many receivers are dead; what is left goes to workflows', async () => {
    const dead = await sender.receiver(() => undefined);
    const banks: string[] = [];
    for (let i = 0; i < 12; i++) banks.push((await sender.bankAt(dead.url)).entityId);
    const ids = await sender.announceTo(banks, 'billing-batch/g');
    const counts = await sender.activities().deliverFirstAttempts('billing-batch/g', WEBHOOK_TYPES);
    // One round of ten takes the whole 2 s.
    expect(counts).toMatchObject({ delivered: 0, failed: 10, handedOver: 2 });
    const starts = await Promise.all(ids.map(sender.startsOf));
    expect(starts.map((all) => all.length)).toEqual(ids.map(() => 1));
  });
});

describe('an attempt of a delivery workflow', () => {
  it('that is the first is cut off as soon as others, and the next ones have their full time', async () => {
    const { url } = await sender.receiver(() => undefined);
    const bank = await sender.bankAt(url);
    const made = sender.activities({ WEBHOOK_TIMEOUT_S: 2.1 });
    const [first = ''] = await sender.announceTo([bank.entityId]);
    expect(await made.attemptDelivery(first)).toMatchObject({ why: 'no answer within 2000 ms', attempts: 1 });
    // Its receiver fails by now, so that the first attempt of another has the full time as well.
    const [second = ''] = await sender.announceTo([bank.entityId]);
    const both = [sender.attemptInTime(first, made), made.attemptDelivery(second)];
    expect(await Promise.all(both)).toMatchObject([
      { why: 'no answer within 2100 ms', attempts: 2 },
      { why: 'no answer within 2100 ms', attempts: 1 },
    ]);
  });

  it('is followed by the next after the time in the table, give or take a fifth', async () => {
    const { url } = await sender.receiver(broken);
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    for (const [attempts, s] of [
      [1, 5],
      [2, 30],
    ] as const) {
      const result = await sender.attemptInTime(id);
      expect(result).toMatchObject({ status: 'pending', why: 'answered 503', attempts, maxAttempts: 3 });
      expect(retryInMs(result)).toBeGreaterThanOrEqual(s * 800);
      expect(retryInMs(result)).toBeLessThanOrEqual(s * 1200);
    }
    const failed = { status: 'failed', webhookType: 'billing.request', attempts: 3 };
    expect(await sender.attemptInTime(id)).toEqual({ ...failed, why: 'answered 503' });
    expect(await sender.activities().attemptDelivery(id)).toEqual({ ...failed, why: null });
  });

  it('answered with 410 is the last, also the first', async () => {
    const { url } = await sender.receiver((response) => response.writeHead(410).end());
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    expect(await sender.activities().attemptDelivery(id)).toMatchObject({ status: 'failed', attempts: 1 });
  });

  it('is not made before it is due, however often its workflow is woken, unless it is asked for', async () => {
    const { url, received } = await sender.receiver(broken);
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId], 'billing-request/woken');
    // Longer than the test takes.
    const made = sender.activities({ WEBHOOK_RETRY_S: [3_600, 3_600] });
    await made.deliverFirstAttempts('billing-request/woken', WEBHOOK_TYPES);
    for (let i = 0; i < 12; i++) {
      const result = await made.attemptDelivery(id);
      expect(result).toMatchObject({ status: 'pending', why: 'answered 503', attempts: 1, maxAttempts: 3 });
      expect(retryInMs(result)).toBeGreaterThan(0);
      expect(retryInMs(result)).toBeLessThanOrEqual(4_320_000);
    }
    expect(received).toHaveLength(1);
    await askAgain(bank.entityId, id);
    expect(await sender.activities().attemptDelivery(id)).toMatchObject({ status: 'pending', attempts: 2 });
    expect(received).toHaveLength(2);
  });

  it('made twice at once is one attempt, and the receiver sees one', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    const both = [sender.activities(), sender.activities()].map((one) => one.attemptDelivery(id));
    // The second ends while the first is on its way.
    expect(await Promise.race(both)).toMatchObject({ attempts: 0 });
    await slow.holds(1);
    slow.answer(broken);
    await Promise.all(both);
    expect(slow.received).toHaveLength(1);
    expect(await attemptsOf(id)).toHaveLength(1);
  });

  it('that found no place keeps its turn however often it is woken, and comes at once when asked for', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    // Its attempts have their full time.
    await setFailing(bank.entityId);
    const made = sender.activities({ WEBHOOK_TIMEOUT_S: 60 });
    const ids = await sender.announceTo(Array.from({ length: 10 }, () => bank.entityId));
    const inFlight = ids.slice(0, 8).map((id) => made.attemptDelivery(id));
    await slow.holds(8);
    const [asked = '', released = ''] = ids.slice(8);
    for (const [id, turnMs] of [
      [asked, 7_500],
      [released, 15_000],
    ] as const) {
      for (let i = 0; i < 6; i++)
        expect(retryInMs(await made.attemptDelivery(id))).toBeLessThanOrEqual(turnMs);
    }
    await db.rows`
      UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at + interval '1 hour' WHERE id = ANY(${ids})`;
    expect(await made.attemptDelivery(asked)).toMatchObject({
      status: 'pending',
      why: 'no attempt could be begun',
      attempts: 0,
    });
    expect(await attemptsOf(asked)).toEqual([]);

    slow.answer(taken);
    await Promise.all(inFlight);
    await askAgain(bank.entityId, asked);
    const again = made.attemptDelivery(asked);
    await slow.holds(1);
    slow.answer(taken);
    expect(await again).toEqual({ status: 'delivered', attempts: 1 });

    for (const status of ['disabled', 'active'] as const)
      await db.transaction((trx) => changeStatus(trx, OPERATOR, bank.entityId, status));
    const freed = made.attemptDelivery(released);
    await slow.holds(1);
    slow.answer(taken);
    expect(await freed).toEqual({ status: 'delivered', attempts: 1 });
  });
});

describe('a redelivery asked for while an attempt is under way', () => {
  it('comes after it although that one arrives, whichever worker makes it, and is a new one with all its retries', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    const made = sender.activities();
    const [first = ''] = await sender.announceTo([bank.entityId], 'billing-request/in-the-air');
    const [own = ''] = await sender.announceTo([bank.entityId]);
    const underWay = [
      made.deliverFirstAttempts('billing-request/in-the-air', WEBHOOK_TYPES),
      made.attemptDelivery(own),
    ] as const;
    await slow.holds(2);
    for (const id of [first, own]) await askAgain(bank.entityId, id);
    slow.answer(taken);
    const [counts, ofOwn] = await Promise.all(underWay);
    expect(counts).toMatchObject({ delivered: 1, failed: 0 });
    expect(ofOwn).toMatchObject({ status: 'pending', attempts: 1, maxAttempts: 4, retryInMs: 0 });
    // The redelivery itself has started its workflow.
    expect(await sender.startsOf(first)).toEqual([{ again: 'redeliveryRequested' }]);
    for (const id of [first, own]) {
      const again = made.attemptDelivery(id);
      await slow.holds(1);
      slow.answer(taken);
      expect(await again).toEqual({ status: 'delivered', attempts: 2 });
      expect(await made.attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 2 });
    }
    expect(slow.received).toHaveLength(4);
  });

  it('comes after it also where that one is the last, or is answered with 410', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    const made = sender.activities({ WEBHOOK_RETRY_S: [5] });
    const first = made.attemptDelivery(id);
    await slow.holds(1);
    slow.answer(broken);
    await first;

    const last = sender.attemptInTime(id, made);
    await slow.holds(1);
    await askAgain(bank.entityId, id);
    slow.answer(broken);
    // Its receiver may have been mended just then: the wish is for an attempt after it.
    expect(await last).toMatchObject({ status: 'pending', attempts: 2, maxAttempts: 4, retryInMs: 0 });

    const gone = made.attemptDelivery(id);
    await slow.holds(1);
    await askAgain(bank.entityId, id);
    slow.answer((response) => response.writeHead(410).end());
    expect(await gone).toMatchObject({ status: 'pending', attempts: 3, maxAttempts: 5, retryInMs: 0 });
  });

  it('is not asked for by who enables the receiver meanwhile', async () => {
    const slow = await patientReceiver();
    const bank = await sender.bankAt(slow.url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    const underWay = sender.activities().attemptDelivery(id);
    await slow.holds(1);
    for (const status of ['disabled', 'active'] as const)
      await db.transaction((trx) => changeStatus(trx, OPERATOR, bank.entityId, status));
    slow.answer(taken);
    expect(await underWay).toEqual({ status: 'delivered', attempts: 1 });
  });
});

describe('a receiver that answers what it was told', () => {
  it('leaves nothing of it in clear in the database', async () => {
    const { url } = await sender.receiver((response, { body }) => response.writeHead(500).end(body));
    const bank = await sender.bankAt(url);
    const [first = ''] = await sender.announceTo([bank.entityId], 'billing-request/echo');
    await sender.activities().deliverFirstAttempts('billing-request/echo', WEBHOOK_TYPES);
    await sender.attemptInTime(first);

    const told = await attemptsOf(first);
    expect(told.map(({ head }) => head?.includes('ada@example.com'))).toEqual([true, true]);
    const stored = await dump();
    expect(stored).toContain(first);
    expect(stored).not.toContain('ada@example.com');
    expect(stored).not.toContain(Buffer.from('ada@example.com').toString('hex'));
  });

  it('leaves ids and outcome in the log, and neither the body nor where it went', async () => {
    const { url } = await sender.receiver(broken);
    const bank = await sender.bankAt(url);
    const [id = ''] = await sender.announceTo([bank.entityId]);
    await sender.activities().attemptDelivery(id);
    expect(sender.log).toEqual([expect.stringContaining(id)]);
    expect(sender.log[0]).toContain(bank.entityId);
    for (const secret of ['ada@example.com', 'hooks', 's3cret', '127.0.0.1', 'down', bank.webhookSecret]) {
      expect(sender.log[0]).not.toContain(secret);
    }
  });
});
