import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ApiClient } from '../parties/client';
import { agreement, Cast } from '../support/cast';
import { startCollector, type CollectedSpan, type Collector } from '../support/collector';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { metricsOnFreePorts, valueOf, type Metrics } from '../support/metrics';

/**
 * What its receiver can do about webhooks: have one once more, catch up by the feed, and find them
 * in the trace of the call that they come of.
 */

let engine: TestEngine;
let cast: Cast;
let metrics: Metrics;
let collector: Collector;

beforeAll(async () => {
  metrics = await metricsOnFreePorts();
  collector = await startCollector();
  // Two retries, close together: a delivery is given up within a second.
  engine = await startEngine({
    WEBHOOK_RETRY_S: '0.3,0.3',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...metrics.settings,
  });
  cast = new Cast(engine);
});
afterAll(async () => {
  await cast.leave();
  await engine.stop();
  await collector.stop();
});

interface Delivery {
  status: string;
  eventId: string;
  attempts: { status: number | null; error: string | null }[];
}

async function retrieve(api: ApiClient, deliveryId: string): Promise<Delivery> {
  const { body } = await api.get(`/v1/webhooks/deliveries/${deliveryId}`);
  return body.data as unknown as Delivery;
}

async function becomes(
  api: ApiClient,
  deliveryId: string,
  status: string,
  attempts: number,
): Promise<Delivery> {
  let delivery = await retrieve(api, deliveryId);
  await eventually(async () => {
    delivery = await retrieve(api, deliveryId);
    return delivery.status === status && delivery.attempts.length >= attempts;
  });
  expect(delivery.attempts).toHaveLength(attempts);
  return delivery;
}

async function sendTest(api: ApiClient): Promise<string> {
  const { status, body } = await api.post('/v1/webhooks/endpoint/test', undefined);
  expect(status).toBe(202);
  return String(body.data['deliveryId']);
}

const attemptSeries = (type: string, attempt: string, outcome: string) =>
  `assent_webhook_attempts_total{type="${type}",attempt="${attempt}",outcome="${outcome}"}`;

test('a redelivery brings what was given up, byte for byte, and once more what has arrived; the metrics count each attempt', async () => {
  const before = await metrics.worker();
  const merchant = await cast.merchant();
  await merchant.server.misbehave({ kind: 'status', status: 500, times: 3 });
  const deliveryId = await sendTest(merchant.api);
  const failed = await becomes(merchant.api, deliveryId, 'failed', 3);
  expect(failed.attempts).toMatchObject(
    Array.from({ length: 3 }, () => ({ status: 500, error: 'HTTP 500' })),
  );
  const counted = async (series: string) =>
    (valueOf(await metrics.worker(), series) ?? 0) - (valueOf(before, series) ?? 0);
  await eventually(
    async () => (await counted('assent_webhook_deliveries_failed_total{type="webhook.test"}')) === 1,
  );
  expect(await counted(attemptSeries('webhook.test', 'retry', 'refused'))).toBe(3);
  expect(await counted('assent_webhook_attempt_duration_seconds_count{attempt="retry"}')).toBe(3);

  for (const attempts of [4, 5]) {
    const answer = await merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined);
    expect(answer).toMatchObject({ status: 202, body: { data: { deliveryId } } });
    await becomes(merchant.api, deliveryId, 'delivered', attempts);
  }
  const seen = (await merchant.server.attempts()).filter((attempt) => attempt.deliveryId === deliveryId);
  expect(seen.map(({ outcome }) => outcome)).toEqual(['fault', 'fault', 'fault', 'taken', 'repeat']);
  expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A receiver that takes everything, and keeps the headers of each. */
async function listen(): Promise<{ url: string; received: IncomingHttpHeaders[] }> {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(request.headers);
      response.writeHead(200, { connection: 'close' }).end();
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

test('a redelivery asked for while the receiver has yet to answer comes after that answer', async () => {
  const merchant = await cast.merchant();
  const held: ServerResponse[] = [];
  const ids: unknown[] = [];
  const server = createServer((request, response) => {
    ids.push(request.headers['webhook-id']);
    request.resume().on('end', () => held.push(response));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const answer = () => {
    for (const response of held.splice(0)) response.writeHead(200, { connection: 'close' }).end();
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await merchant.api.put('/v1/webhooks/endpoint', { url });
  const deliveryId = await sendTest(merchant.api);
  for (let asked = 0; asked < 2; asked++) {
    await eventually(async () => held.length > 0);
    const seen = ids.length;
    const again = await merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined);
    expect(again.status).toBe(202);
    answer();
    await eventually(async () => ids.length > seen);
  }
  await eventually(async () => {
    answer();
    return (await retrieve(merchant.api, deliveryId)).status === 'delivered';
  });
  expect(new Set(ids)).toEqual(new Set([deliveryId]));
});

const byType = (one: { webhookType: string }, other: { webhookType: string }) =>
  one.webhookType.localeCompare(other.webhookType);

test('the feed has for each side what its webhooks carried, for a receiver that was down all along', async () => {
  const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  const [customer] = bank.customers;
  const paymentID = await agreement(bank, merchant, customer);
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 30.1);
  await merchant.hears('billing.response', billingRequestId);

  for (const side of [bank, merchant]) {
    const carried = (await side.server.received()).map(({ type, item }) => ({
      webhookType: type,
      data: [item],
    }));
    expect(carried.length).toBeGreaterThanOrEqual(2);
    const read = async () => {
      const { body } = await side.api.get('/v1/events');
      return body.data['events'] as { webhookType: string; data: unknown[] }[];
    };
    await eventually(async () => (await read()).length >= carried.length);
    const events = (await read()).map(({ webhookType, data }) => ({ webhookType, data }));
    expect(events.toSorted(byType)).toEqual(carried.toSorted(byType));
  }
});

const requestSeries = (method: string, route: string, status: number) =>
  `assent_http_requests_total{method="${method}",route="${route}",status="${status}"}`;

describe('an operator who reads the metrics', () => {
  test('finds each request under its route and each webhook under its type, and nobody in them', async () => {
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const [customer] = bank.customers;
    const paymentID = await agreement(bank, merchant, customer);
    const before = { api: await metrics.api(), worker: await metrics.worker() };
    const charge = await merchant.charge({ paymentIDs: [paymentID] }, 30.1);
    await merchant.hears('billing.response', charge.billingRequestId);
    await merchant.retrieve(charge.billingRequestId);
    await fetch(`${engine.apiUrl}/v1/${customer.email}?email=${customer.email}`);
    await fetch(`${engine.apiUrl}/v1/customer/bill`, { method: 'PURGE' });

    const counted = async (series: string, side: 'api' | 'worker') =>
      (valueOf(await metrics[side](), series) ?? 0) - (valueOf(before[side], series) ?? 0);
    // Counted when it has left the process, which its caller may notice first.
    await eventually(
      async () => (await counted(requestSeries('other', '/v1/customer/bill', 405), 'api')) === 1,
    );
    expect(await counted(requestSeries('POST', '/v1/customer/bill', 201), 'api')).toBe(1);
    expect(await counted(requestSeries('GET', '/v1/billing/requests/:billingRequestId', 200), 'api')).toBe(1);
    expect(await counted(requestSeries('GET', 'none', 404), 'api')).toBe(1);
    const took = 'assent_http_request_duration_seconds_count{method="POST",route="/v1/customer/bill"}';
    expect(await counted(took, 'api')).toBe(1);
    // The merchant has it before the worker has heard so.
    await eventually(
      async () => (await counted(attemptSeries('billing.response', 'first', 'delivered'), 'worker')) === 1,
    );
    expect(await counted(attemptSeries('billing.request', 'first', 'delivered'), 'worker')).toBe(1);

    const worker = await metrics.worker();
    for (const text of [await metrics.api(), worker]) {
      for (const dependency of ['postgres', 'temporal', 'worker'])
        expect(valueOf(text, `assent_dependency_up{dependency="${dependency}"}`)).toBe(1);
      expect(valueOf(text, 'assent_database_connections_max')).toBe(8);
      expect(valueOf(text, 'assent_database_waiting')).toBe(0);
      expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(0);
      expect(text).not.toMatch(/[a-z]{3}_[0-9a-z]{26}/);
      const { email, lookupID } = customer;
      for (const one of [email, lookupID, paymentID, charge.reference, engine.database.url]) {
        expect(text).not.toContain(one);
      }
    }
    expect(valueOf(worker, 'assent_outbox_messages{rank="call"}')).toBeGreaterThanOrEqual(0);
    expect(valueOf(worker, 'assent_outbox_oldest_age_seconds{rank="call"}')).toBeGreaterThanOrEqual(0);
    for (const queue of ['assent', 'assent-recurring', 'assent-webhook', 'assent-customer-migration']) {
      const labels = `{namespace="${engine.namespace}",task_queue="${queue}",worker_type="ActivityWorker"}`;
      expect(valueOf(worker, `temporal_worker_task_slots_available${labels}`)).toBeGreaterThan(0);
    }
  });

  test('finds every metric, label and value that the alerts and the dashboard ask for', async () => {
    // The SDK counts a task once there was one. The first of a workflow comes with its start, and
    // goes through no queue; an activity of a clock's makes another.
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    await agreement(bank, merchant, bank.customers[0]);
    await merchant.advanceClock('PT1S');
    await eventually(async () =>
      /^temporal_workflow_task_schedule_to_start\w+\{[^}]*task_queue="assent"/m.test(await metrics.worker()),
    );
    await Promise.all(['/healthz', '/readyz'].map((path) => fetch(engine.apiUrl + path)));
    const exported = `${await metrics.api()}\n${await metrics.worker()}`;
    const names = new Set(
      [...exported.matchAll(/^# TYPE (\w+)/gm)].flatMap(([, name = '']) => seriesOf(name)),
    );
    const valuesOf = await labelValues(exported);
    for (const file of ['prometheus/alerts.yml', 'grafana/dashboards/assent.json']) {
      const asked = (await readFile(join(DEPLOY, file), 'utf8')).replaceAll('\\"', '"');
      const askedNames = asked.match(METRIC) ?? [];
      expect(askedNames.length).toBeGreaterThan(10);
      expect(askedNames.filter((name) => !names.has(name) && name !== 'up')).toEqual([]);
      const matched = [...asked.matchAll(/\b(\w+)\{(\w+(?:=|!)[^}]*)\}/g)].flatMap(
        ([, name = '', all = '']) =>
          [...all.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', how = '', wanted = '']) => ({
            name,
            label,
            wanted: how.endsWith('~') ? wanted.split('|') : [wanted],
          })),
      );
      const grouped = [...asked.matchAll(/\bby \(([^)]*)\)/g)].flatMap(({ index, 1: list = '' }) =>
        list.split(', ').map((label) => ({
          name: METRIC_FIRST.exec(asked.slice(index + list.length + 5))?.[0] ?? '',
          label,
          wanted: [],
        })),
      );
      expect([matched.length > 1, grouped.length > 5]).toEqual([true, true]);
      const missing = [...matched, ...grouped].filter(({ name, label, wanted }) => {
        const values = valuesOf(name, label);
        return values === undefined || !wanted.every((one) => values.some((value) => isLike(value, one)));
      });
      expect(missing).toEqual([]);
    }
  });
});

const DEPLOY = join(__dirname, '../../deploy');
const METRIC = /\b(?:assent|temporal|process|nodejs)_\w+/g;
const METRIC_FIRST = /\b(?:(?:assent|temporal|process|nodejs)_\w+|up\b)/;

/** As Prometheus anchors it; of its patterns ours have these two signs alone. */
const isLike = (value: string, wanted: string) => {
  if (wanted.endsWith('.*')) return value.startsWith(wanted.slice(0, -2));
  return (
    value.length === wanted.length && wanted.split('').every((sign, n) => sign === '.' || sign === value[n])
  );
};

/** @returns the values of a label of a metric; undefined where it has no such label */
async function labelValues(exported: string): Promise<(name: string, label: string) => string[] | undefined> {
  const prometheus = await readFile(join(DEPLOY, 'prometheus/prometheus.yml'), 'utf8');
  const jobs = [...prometheus.matchAll(/job_name: (\S+)/g)].map(([, job = '']) => job);
  const seen = new Map<string, string[]>();
  for (const [, name = '', all = ''] of exported.matchAll(/^(\w+)\{(.*)\} \S+$/gm)) {
    for (const [, label = '', value = ''] of all.matchAll(/(\w+)="([^"]*)"/g)) {
      seen.set(`${name} ${label}`, [...(seen.get(`${name} ${label}`) ?? []), value]);
    }
  }
  // What has not happened here has no series: it is declared with these.
  for (const file of ['worker/effects.ts', 'api/http/request-metrics.ts', 'process/service-metrics.ts']) {
    const [, ...declarations] = (await readFile(join(__dirname, '../../src', file), 'utf8')).split(
      /\bname: /,
    );
    for (const declaration of declarations) {
      const name = /\w+/.exec(declaration)?.[0] ?? '';
      const declared = /\blabel(?:Names)?: (?:\[(.*?)\]|('\w+'))/.exec(declaration);
      for (const label of (declared?.[1] ?? declared?.[2] ?? '').match(/\w+/g) ?? []) {
        if (!seen.has(`${name} ${label}`)) seen.set(`${name} ${label}`, []);
      }
    }
  }
  seen.set('assent_http_requests_total status', [
    ...(seen.get('assent_http_requests_total status') ?? []),
    '500',
  ]);
  // Prometheus gives these to each series.
  return (name, label) => (label === 'job' ? jobs : label === 'instance' ? [] : seen.get(`${name} ${label}`));
}

/** The names under which Prometheus finds a metric: a histogram is three. */
const seriesOf = (name: string) => [name, ...['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)];

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

/** A call of somebody who traces his own program. */
async function call(api: ApiClient, path: string, body: object, traceparent: string) {
  const answer = await fetch(`${engine.apiUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await api.accessToken()}`,
      'content-type': 'application/json',
      traceparent,
      tracestate: 'shop=secret',
    },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return (await answer.json()) as { data: Record<string, unknown> } & Record<string, unknown>[];
}

const child = (parent: CollectedSpan, name: string) =>
  collector.span((span) => span.parentSpanId === parent.spanId && span.name === name);
const called = (spanId: string, traceId: string, path: string) =>
  collector.span(
    (span) => span.parentSpanId === spanId && span.traceId === traceId && span.name === `POST ${path}`,
  );

describe('a trace', () => {
  test('goes from the call over workflow and activities to the webhooks, and on to their receivers', async () => {
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const [customer] = bank.customers;
    const paymentID = await agreement(bank, merchant, customer);
    const { url, received } = await listen();
    await merchant.api.put('/v1/webhooks/endpoint', { url });
    // With a dot: ids of spans and of time have any four figures.
    const bill = { paymentIDs: [paymentID], amount: 1500.75, currency: 'NGN', description: 'Shoes' };
    const [item] = await call(merchant.api, '/v1/customer/bill', bill, `00-${TRACE}-${CALLER}-01`);
    await eventually(async () => received.length === 1);

    const served = await called(CALLER, TRACE, '/v1/customer/bill');
    expect(served).toMatchObject({ service: 'assent-api', kind: 'server', failed: false });
    expect(served.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/customer/bill',
      'http.response.status_code': 201,
      'assent.caller_id': merchant.entityId,
    });
    const started = await child(served, 'start billingRequest');
    expect(started).toMatchObject({ service: 'assent-worker', kind: 'producer' });
    const asking = await child(started, 'askBank');
    expect(asking.attributes).toMatchObject({
      temporalWorkflowID: `billing-request/${String(item?.['billingRequestId'])}`,
    });
    const asked = await child(asking, 'webhook billing.request');
    await child(started, 'awaitAnswer');
    const told = await child(await child(started, 'tellMerchant'), 'webhook billing.response');
    for (const webhook of [asked, told]) {
      expect(webhook).toMatchObject({ kind: 'client', attributes: { 'http.response.status_code': 200 } });
    }
    expect(received[0]).toMatchObject({ traceparent: `00-${TRACE}-${told.spanId}-01` });
    expect(received[0]).not.toHaveProperty('tracestate');

    const ofTheTrace = collector.spans().filter(({ traceId }) => traceId === TRACE);
    const known = new Set([CALLER, ...ofTheTrace.map(({ spanId }) => spanId)]);
    expect(ofTheTrace.filter(({ parentSpanId }) => !known.has(parentSpanId))).toEqual([]);
    const text = JSON.stringify(collector.spans());
    const { lookupID, email } = customer;
    const secret = [lookupID, email, paymentID, url, await merchant.api.accessToken(), '1500.75', 'Shoes'];
    for (const one of secret) expect(text).not.toContain(one);
    const lines = (await engine.log()).split('\n').filter((line) => line.includes(TRACE));
    const saying = (message: string) => lines.some((line) => line.includes(`"msg":"${message}"`));
    expect([saying('request'), saying('webhook attempt')]).toEqual([true, true]);
  });

  test('has each attempt at a webhook, also those that a workflow makes later', async () => {
    const merchant = await cast.merchant();
    await merchant.server.misbehave({ kind: 'status', status: 500, times: 2 });
    const deliveryId = await sendTest(merchant.api);
    await becomes(merchant.api, deliveryId, 'delivered', 3);
    const ofIt = (span: CollectedSpan) => span.attributes['assent.delivery_id'] === deliveryId;
    await collector.span((span) => ofIt(span) && !span.failed);
    const attempts = collector.spans().filter(ofIt);
    expect(attempts.map(({ failed }) => failed)).toEqual([true, true, false]);
    expect(new Set(attempts.map(({ traceId }) => traceId)).size).toBe(1);
    expect(attempts.at(-1)?.attributes).toMatchObject({ 'http.request.resend_count': 2 });
  });

  test('of a due charge is one of its own, and not of the call that made its schedule', async () => {
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const [customer] = bank.customers;
    const paymentID = await agreement(bank, merchant, customer);
    const traceId = TRACE.replace('4b', '5c');
    const terms = {
      customerId: customer.customerId,
      paymentID,
      amount: 1500,
      currency: 'NGN',
      frequency: 'monthly',
      startDate: new Date(Date.now() + 86_400_000).toISOString(),
      maxBillings: 2,
    };
    const path = '/v1/billing/recurring/create';
    const { data } = await call(merchant.api, path, terms, `00-${traceId}-${CALLER}-01`);
    await merchant.advanceClock('PT25H');
    const workflow = `recurring/${String(data['scheduleId'])}`;
    const ofIt = ({ attributes }: CollectedSpan) => attributes['temporalWorkflowID'] === workflow;

    await child(await called(CALLER, traceId, path), 'start recurring');
    const step = (name: string) => collector.span((span) => ofIt(span) && span.name === name);
    const charged = await step('chargeBilling');
    expect(charged.parentSpanId).toBe('');
    expect(charged.traceId).not.toBe(traceId);
    for (const name of ['webhook billing.request', 'webhook billing.response']) await child(charged, name);
  });

  test('is not worth a charge: with a collector that takes none, all goes on', async () => {
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
    collector.misbehave('refuse');
    const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 20);
    await merchant.hears('billing.response', billingRequestId);
    await eventually(async () => (await engine.log()).includes('spans could not be sent'));
    collector.misbehave('hang');
    const { billingRequestId: another } = await merchant.charge({ paymentIDs: [paymentID] }, 20);
    await merchant.hears('billing.response', another);
    await Promise.all([engine.api.stop(), engine.worker.stop()]);
    expect([await engine.api.ended(), await engine.worker.ended()]).toEqual([0, 0]);
  });
});
