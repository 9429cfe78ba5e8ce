import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { format, resolveConfig } from 'prettier';
import { routes } from '../src/api/app';
import { openApiDocument, type OpenApiDocument } from '../src/api/openapi/document';
import type { JsonSchema } from '../src/api/openapi/schema';
import { version as VERSION } from '../package.json';
import { readConfig } from '../src/settings/config';
import { apiChangelog, type ApiChange } from './api-changelog';

/**
 * Compares the API's document with that of the last release, by oasdiff. Fails where a change
 * breaks the promise of docs/api-policy.md, or docs/api-changelog.md lacks a change. `--write`
 * brings the changelog up to date; `--release` also keeps today's document to compare with.
 */

const OASDIFF = 'github.com/oasdiff/oasdiff@v1.37.0';
/** The first run compiles it, for half a minute. */
const COMPARED_WITHIN_MS = 300_000;
const SUNSET_DAYS = '180';
const BREAKING = 3;

const ROOT = path.join(__dirname, '..');
const RELEASED = path.join(ROOT, 'docs/openapi');
const CHANGELOG = path.join(ROOT, 'docs/api-changelog.md');

/** oasdiff takes a webhook for a request of the client's. Its receiver reads it as a response. */
function withWebhooksRead({ webhooks, ...document }: OpenApiDocument): object {
  const read = Object.entries(webhooks).flatMap(([name, { post }]) =>
    post ? [[`/webhook ${name}`, { get: { responses: { 200: post['requestBody'] } } }]] : [],
  );
  return { ...document, paths: { ...document.paths, ...Object.fromEntries(read) } };
}

/**
 * What a schema is called, and whether it stands where it is used, is no matter of the API, but
 * oasdiff takes a renamed choice for another.
 */
function withoutNames(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document['components'] as { schemas: Record<string, JsonSchema> };
  const unnamed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unnamed);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...own } = value as JsonSchema;
    const [, name] = /^#\/components\/schemas\/(.+)$/.exec(String($ref)) ?? [];
    const whole = name === undefined ? value : { ...schemas[name], ...own };
    const said = Object.entries(whole).filter(([key, one]) => typeof one !== 'string' || !NAMES.has(key));
    return inOneForm(Object.fromEntries(said.map(([key, one]) => [key, unnamed(one)])));
  };
  return unnamed({
    ...document,
    components: { ...(document['components'] as object), schemas: {} },
  }) as OpenApiDocument;
}

/** For generators; a field may have the same name, which then is no text. */
const NAMES = new Set(['title', 'x-go-type']);

function inOneForm(schema: JsonSchema): JsonSchema {
  const { type, anyOf, ...rest } = schema as { type?: unknown; anyOf?: JsonSchema[] };
  const several = Array.isArray(type) && !type.includes('null') ? (type as string[]) : undefined;
  const choices = several?.map((one): JsonSchema => ({ type: one })) ?? anyOf;
  if (!Array.isArray(choices)) return schema;
  const words = choices.map((one) => one['const']);
  if (!words.includes(undefined)) return { ...rest, type: choices[0]?.['type'], enum: words };
  const patterns = choices.map((one) => one['pattern']);
  if (choices.every((one) => (type ?? one['type']) === 'string') && !patterns.includes(undefined))
    return { ...rest, type: 'string', pattern: patterns.join('|') };
  // oasdiff knows one choice from another by the title.
  const titled = choices.map((one, n) => ({ ...one, title: titleOf(one) ?? `${n}` }));
  return { ...rest, ...(several ? {} : { type }), anyOf: titled };
}

/** Its callers, or the fields that tell it from the others. */
function titleOf(choice: JsonSchema): string | undefined {
  const fields = Object.entries(choice['properties'] ?? {});
  const told = fields.flatMap(([name, one]) => ('const' in one ? [`${name} ${String(one['const'])}`] : []));
  return ((choice['x-roles'] as string[] | undefined) ?? told).join(', ') || undefined;
}

/** Clients and tokens of a release before scopes have all of them. */
const FIRST_SCOPES = ['api-security-scope-added', 'api-security-component-type-changed'];

const hasScopes = (document: OpenApiDocument) => JSON.stringify(document).includes('"clientCredentials"');

function compare(released: OpenApiDocument, current: OpenApiDocument): ApiChange[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'assent-api-'));
  try {
    for (const [n, document] of [released, current].entries())
      writeFileSync(path.join(folder, `${n}.json`), JSON.stringify(withWebhooksRead(withoutNames(document))));
    // The policy: whoever calls takes a word or a webhook that is new to it for an unknown one.
    const added = ['enum-value', 'any-of'].map((what) => `response-property-${what}-added info\n`);
    writeFileSync(path.join(folder, 'levels.txt'), added.join(''));
    const ran = spawnSync(
      'go',
      `run ${OASDIFF} changelog 0.json 1.json --format json --severity-levels levels.txt`
        .concat(` --deprecation-days-stable ${SUNSET_DAYS}`)
        .split(' '),
      { cwd: folder, encoding: 'utf8', timeout: COMPARED_WITHIN_MS, maxBuffer: 64 << 20 },
    );
    if (ran.error)
      throw new Error('oasdiff is run with Go, which is missing: install it', { cause: ran.error });
    if (ran.status !== 0) throw new Error(ran.stderr);
    const changes = JSON.parse(ran.stdout || '[]') as ApiChange[];
    const harmless = hasScopes(released) ? [] : FIRST_SCOPES;
    return changes
      .filter(({ section }) => section !== 'info')
      .map((one) => (harmless.includes(one.id) ? { ...one, level: 1 } : one));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function main([option]: string[]): Promise<void> {
  const file = readdirSync(RELEASED).find((name) => name.endsWith('.json.gz'));
  if (file === undefined) throw new Error('docs/openapi has no released document');
  const version = file.replace('.json.gz', '');
  const released = JSON.parse(
    gunzipSync(readFileSync(path.join(RELEASED, file))).toString(),
  ) as OpenApiDocument;
  const current = openApiDocument(routes({ config: readConfig({}) }));

  const changes = compare(released, current);
  const broken = changes.filter(({ level }) => level >= BREAKING);
  for (const { operation = '', path: where = '', text, id } of broken)
    process.stderr.write(`breaks what ${version} promised: ${operation} ${where}: ${text} [${id}]\n`);
  if (broken.length > 0) process.exitCode = 1;

  const kept = readFileSync(CHANGELOG, 'utf8');
  const style = await resolveConfig(CHANGELOG);
  const made = (next?: string) =>
    format(apiChangelog(kept, version, changes, next), { ...style, parser: 'markdown' });
  if (option === '--release' && broken.length === 0) {
    writeFileSync(CHANGELOG, await made(VERSION));
    rmSync(path.join(RELEASED, file));
    writeFileSync(path.join(RELEASED, `${VERSION}.json.gz`), gzipSync(JSON.stringify(current), { level: 9 }));
  } else if (option === '--write') {
    writeFileSync(CHANGELOG, await made());
  } else if ((await made()) !== kept) {
    process.stderr.write('docs/api-changelog.md lacks a change: npm run generate:changes\n');
    process.exitCode = 1;
  }
  process.stdout.write(`${changes.length} changes since ${version}, ${broken.length} break it\n`);
}

void main(process.argv.slice(2));
