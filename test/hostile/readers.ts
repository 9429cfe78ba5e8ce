import express from 'express';
import type { Request } from 'express';
import type { z } from 'zod';
import { readHead } from '../../src/activities/webhook-connector';
import { person } from '../../src/api/customer/migration-schema';
import { clientAddress } from '../../src/api/http/client-address';
import { canonicalJson, checkJson } from '../../src/api/http/json';
import { JsonListReader } from '../../src/api/http/json-list';
import { metadataGiven } from '../../src/api/http/metadata';
import { BATCH_MAX, list, phrase } from '../../src/api/http/request-fields';
import { check, readQuery } from '../../src/api/http/validation';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { addDuration, parseDay, parseInstant } from '../../src/domain/calendar';
import { parseEmail, parseWebUrl } from '../../src/domain/contact';
import { isId } from '../../src/domain/identifier/ids';
import { normalizePhrase } from '../../src/domain/identifier/phrase';
import { isReference } from '../../src/domain/identifier/reference';
import { isReadExactly, parseDecimalAmount } from '../../src/domain/money';
import { beginningOf, parseText } from '../../src/domain/plain-text';
import { readTraceparent } from '../../src/domain/workflow/trace-context';
import { readCamt } from '../../src/files/bank-file/read-camt';
import { readCsv } from '../../src/files/bank-file/read-csv';
import { maskedBody } from '../../packages/sandbox/src/masked';
import type { ApiDeps } from '../../src/api/http/deps';
import { faultOfGrowth } from '../support/growth';
import { DAYS } from '../support/statement-file';
import * as grammar from './grammar';
import { openSession } from '../../src/api/console/session';
import { GrowingBuffer } from '../../src/api/http/body';

/*
 * Whatever of ours reads bytes or characters of somebody else, each by itself, and the texts that
 * try it: twice the text takes twice the time and memory. Limits of length are not in the way here,
 * so that a square shows however small its part is.
 */

export interface Reader {
  name: string;
  texts: grammar.Grammar;
  /** Reads a text that arrives in pieces of so many bytes. */
  read(bytes: Buffer, pieceBytes: number): unknown;
}

const LONGEST_BYTES = 64 * 1024;
/** From all at once to what a slow line brings at a time. */
const PIECES_BYTES = [LONGEST_BYTES * 2, 4096, 40];

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, void> {
  await Promise.resolve();
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function readJson(bytes: Uint8Array): void {
  const checked = checkJson(bytes);
  if (!checked.problems) canonicalJson(checked.value);
}

async function readList(bytes: Buffer, size: number): Promise<void> {
  const batch = new JsonListReader(32 * 1024);
  for await (const piece of pieces(bytes, size)) {
    for (const one of batch.read(piece)) if (one) readJson(one);
  }
  batch.frame();
}

async function readToEnd(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of lines);
}

const console = {
  db: { keyring: readKeyring(makeKeyring()) },
  config: { ASSENT_MODE: 'sandbox' },
} as ApiDeps;
const behindProxy = express().set('trust proxy', ['loopback', '10.0.0.0/8']);
const requestWith = (headers: object): Request =>
  Object.assign(Object.create(behindProxy.request) as Request, {
    headers,
    socket: { remoteAddress: '127.0.0.1' },
  });

const ofText = (name: string, read: (text: string) => unknown): Reader => ({
  name,
  texts: grammar.TEXT_GRAMMAR,
  read: (bytes) => read(bytes.toString()),
});

const ofHeader = (name: string, read: (text: string) => unknown): Reader => ({
  name,
  texts: grammar.HEADER_GRAMMAR,
  read: (bytes) => read(bytes.toString('latin1')),
});

const bySchema = (name: string, texts: grammar.Grammar, schema: z.ZodType): Reader => ({
  name,
  texts,
  read: (bytes) => check(schema, JSON.parse(String(bytes)), ''),
});

export const READERS: readonly Reader[] = [
  { name: 'a JSON body', texts: grammar.JSON_GRAMMAR, read: readJson },
  { name: 'the list of a batch', texts: grammar.LIST_GRAMMAR, read: readList },
  bySchema('a customer of a batch', grammar.OBJECT_GRAMMAR, person),
  bySchema('the metadata of a charge', grammar.OBJECT_GRAMMAR, metadataGiven),
  bySchema('the customers of a charge', grammar.ARRAY_GRAMMAR, list(phrase, BATCH_MAX, normalizePhrase)),
  {
    name: 'a bank file in CSV',
    texts: grammar.CSV_GRAMMAR,
    read: (bytes, size) => readToEnd(readCsv(pieces(bytes, size), DAYS)),
  },
  {
    name: 'a bank file in camt.053',
    texts: grammar.CAMT_GRAMMAR,
    read: (bytes, size) =>
      readToEnd(
        readCamt(
          pieces(bytes, size),
          DAYS,
          () => undefined,
          () => undefined,
        ),
      ),
  },
  { name: 'a query string', texts: grammar.QUERY_GRAMMAR, read: (bytes) => readQuery(`/?${String(bytes)}`) },
  ofHeader('the cookie of the console', (cookie) => openSession(console, requestWith({ cookie }))),
  ofHeader('X-Forwarded-For', (text) => clientAddress(requestWith({ 'x-forwarded-for': text }))),
  ofHeader('traceparent', readTraceparent),
  {
    name: 'the answer of a webhook’s receiver',
    texts: grammar.TEXT_GRAMMAR,
    read: (bytes, size) => readHead(pieces(bytes, size)),
  },
  {
    name: 'bytes that arrive one after the other',
    texts: grammar.TEXT_GRAMMAR,
    async read(bytes, size) {
      const whole = new GrowingBuffer();
      for await (const piece of pieces(bytes, size)) whole.add(piece);
    },
  },
  {
    name: 'a body that the sandbox shows',
    texts: grammar.JSON_GRAMMAR,
    read: (bytes) => maskedBody(String(bytes), 'application/json'),
  },
  {
    name: 'a form that the sandbox shows',
    texts: grammar.FORM_GRAMMAR,
    read: (bytes) => maskedBody(String(bytes), 'application/x-www-form-urlencoded'),
  },
  ofText('a text that people wrote', (text) => [parseText(text, 500), beginningOf(text, 1_000)]),
  ofText('a phrase', normalizePhrase),
  ofText('an e-mail address', parseEmail),
  ofText('an address on the web', (text) => parseWebUrl(['https', 'http'], text)),
  ofText('a day or a moment', (text) => [
    parseDay(text),
    parseInstant(text),
    addDuration(new Date(0), text, 'UTC'),
  ]),
  ofText('an amount', (text) => [parseDecimalAmount(text, 'NGN'), isReadExactly(text)]),
  ofText('an id', (text) => [isId('customer', text), isReference(text)]),
];

/** @returns what grows by more than what is read, with the text that shows it */
export async function faultsOf(reader: Reader, part: number): Promise<string[]> {
  const { name, texts } = reader;
  const faults: string[] = [];
  for (const [n, shape] of grammar.shapesOf(texts, part).entries()) {
    const size = PIECES_BYTES[n % PIECES_BYTES.length] ?? 1;
    const fault = await faultOfGrowth(
      (bytes) => reader.read(bytes, size),
      (bytes) => grammar.textOf(shape, bytes),
      LONGEST_BYTES,
    );
    if (fault !== undefined)
      faults.push(`${name}, of ${JSON.stringify(shape)} in pieces of ${size}: ${fault}`);
  }
  return faults;
}

/** @param part every n-th text alone */
export async function attackReaders(
  part: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string[]> {
  const found: string[] = [];
  for (const reader of READERS) {
    signal.throwIfAborted();
    found.push(...(await faultsOf(reader, part)));
  }
  say(`Readers: ${READERS.length}, each with texts of up to ${LONGEST_BYTES / 1024} KiB`);
  return found;
}
