import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createApp } from '../../src/api/create-app';
import type { ApiDeps } from '../../src/api/http/deps';
import { createCallerLimiter } from '../../src/api/http/slots';
import { createTokenBuckets } from '../../src/api/http/rate-limit';
import { createApiServer } from '../../src/api/http/server';
import { readConfig } from '../../src/settings/config';
import {
  createEntity,
  type EntityCredentials,
  type NewEntity,
} from '../../src/database/entity/create-entity';
import type { Database } from '../../src/database/pool/connection';
import type { Role } from '../../src/domain/entity';
import { describeError } from '../../src/process/log';
import { knowApi } from './conformance';
import { databaseOfFile } from './database';
import type { Standing } from './standing';

/** The API on a port of its own, in this process, on a database of the test's. */
export interface ServedApi {
  url: string;
  deps: ApiDeps;
  /** Its log, one object per line. */
  log: Record<string, unknown>[];
  close(): Promise<void>;
}

interface Envelope {
  statusCode: number;
  success: boolean;
  message: string;
  data?: Record<string, unknown>;
  errors?: { path: string; message: string }[];
}

export interface Answered {
  status: number;
  headers: Headers;
  body: Envelope;
}

/** An entity and a way to speak as it. */
export interface Party extends EntityCredentials {
  token: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
}

export async function serveApi(
  db: Database,
  more: { settings?: Record<string, string> | undefined } & Partial<ApiDeps> = {},
): Promise<ServedApi> {
  const { settings, ...given } = more;
  const log: Record<string, unknown>[] = [];
  const deps: ApiDeps = {
    config: readConfig(settings ?? {}),
    db,
    buckets: createTokenBuckets(db),
    measureUnknown: () => undefined,
    limiter: createCallerLimiter(16),
    log: pino(
      { serializers: { err: describeError } },
      { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    readiness: () => Promise.resolve([]),
    ...given,
  };
  const server = createApiServer(createApp(deps), deps.log, deps.config).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  knowApi(url, deps.config);
  return {
    url,
    deps,
    log,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

/** The API of the test file that calls this, on a database of its own. It is there in its tests. */
export function apiOfFile(more: Parameters<typeof serveApi>[1] = {}) {
  const database = databaseOfFile();
  const api = {} as ServedApi;
  beforeAll(async () => {
    Object.assign(api, await serveApi(database.db, more));
  });
  afterAll(() => api.close());
  return { api, database, db: database.db };
}

/** Makes an entity as the operator would. */
export async function createParty(
  { deps: { db } }: ServedApi,
  type: Role,
  more: Partial<NewEntity> = {},
): Promise<EntityCredentials> {
  const made = await db.transaction((trx) => createEntity(trx, { type, name: `A ${type}`, ...more }));
  if (made === undefined) throw new Error('the clientRef is taken');
  return made;
}

/** Makes an entity, and gets it a token over HTTP. */
export async function enter(api: ServedApi, type: Role, more: Partial<NewEntity> = {}): Promise<Party> {
  return signIn(api, await createParty(api, type, more));
}

/** Gets an entity that is there already a token over HTTP. */
export async function signIn(api: ServedApi, made: EntityCredentials): Promise<Party> {
  const token = await tokenOf(api, made);
  return {
    ...made,
    token,
    send: (method, path, body, headers) =>
      send(api.url, method, path, body, { authorization: `Bearer ${token}`, ...headers }),
  };
}

export async function tokenOf(
  api: ServedApi,
  client: Pick<EntityCredentials, 'clientId' | 'clientSecret'>,
  scope = '',
): Promise<string> {
  const answered = await fetch(`${api.url}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      scope,
    }),
  });
  const { access_token: token } = (await answered.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token: ${answered.status}`);
  return token;
}

/** A token of each party of a standing approval. */
export async function tokensOf(
  api: ServedApi,
  { credentials }: Pick<Standing, 'credentials'>,
): Promise<Record<'bank' | 'provider' | 'merchant', string>> {
  const [bank, provider, merchant] = await Promise.all([
    tokenOf(api, credentials.bank),
    tokenOf(api, credentials.provider),
    tokenOf(api, credentials.merchant),
  ]);
  return { bank, provider, merchant };
}

/** A request as it is: an object goes as JSON, text and bytes go unchanged. */
export async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const answered = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
  });
  const isFile = answered.headers.get('content-type')?.startsWith('text/csv') === true;
  // A file is told by its status and headers; who wants its text fetches it.
  const read: unknown = isFile ? await answered.text() : await answered.json();
  return { status: answered.status, headers: answered.headers, body: read as Envelope };
}
