import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'protobufjs';
import { eventually } from './engine';

/**
 * A collector of OpenTelemetry, as far as a sender of spans can tell: OTLP over HTTP, in protobuf.
 */
export interface Collector {
  url: string;
  /** Spans in the order of their coming. */
  spans(): CollectedSpan[];
  /** Waits for a span. */
  span(found: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  /** The headers of each request. */
  requests: IncomingMessage['headers'][];
  /** From now on it does not answer as it should. */
  misbehave(how: 'refuse' | 'hang' | 'behave'): void;
  stop(): Promise<void>;
}

export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty where it begins a trace. */
  parentSpanId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer';
  attributes: Record<string, string | number>;
  failed: boolean;
}

const REQUEST = parse(`syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated Attribute attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    repeated Attribute attributes = 9; Status status = 15;
  }
  message Attribute { string key = 1; Value value = 2; }
  message Value { oneof value { string string_value = 1; int64 int_value = 3; double double_value = 4; } }
  message Status { int32 code = 3; }
`).root.lookupType('Request');

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number; doubleValue?: number };
}

interface Request {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        traceId: Buffer;
        spanId: Buffer;
        parentSpanId: Buffer;
        name: string;
        kind: number;
        attributes: Attribute[];
        status: { code: number } | null;
      }[];
    }[];
  }[];
}

const KINDS = [undefined, 'internal', 'server', 'client', 'producer'] as const;
const FAILED = 2;

export async function startCollector(): Promise<Collector> {
  const collected: CollectedSpan[] = [];
  const requests: IncomingMessage['headers'][] = [];
  const hanging: ServerResponse[] = [];
  let behaviour: 'refuse' | 'hang' | 'behave' = 'behave';

  async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = Buffer.concat(await req.toArray());
    if (behaviour === 'hang') {
      hanging.push(res);
      return;
    }
    if (behaviour === 'refuse' || req.url !== '/v1/traces') {
      res.writeHead(400).end();
      return;
    }
    requests.push(req.headers);
    collected.push(...spansOf(body));
    res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  }
  const server = createServer((req, res) => void take(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => collected,
    requests,
    async span(found) {
      let span: CollectedSpan | undefined;
      await eventually(async () => (span = collected.find(found)) !== undefined);
      return span as CollectedSpan;
    },
    misbehave(how) {
      behaviour = how;
      for (const res of hanging.splice(0)) res.writeHead(400).end();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansOf(body: Buffer): CollectedSpan[] {
  const { resourceSpans } = REQUEST.toObject(REQUEST.decode(body), {
    defaults: true,
    longs: Number,
  }) as Request;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(attributesOf(resource.attributes)['service.name']),
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: KINDS[span.kind] ?? 'internal',
        attributes: attributesOf(span.attributes),
        failed: span.status?.code === FAILED,
      })),
    ),
  );
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function attributesOf(attributes: Attribute[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue ?? '']),
  );
}
