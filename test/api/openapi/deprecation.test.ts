import type { Request, Response } from 'express';
import { routes } from '../../../src/api/app';
import type { ApiDeps } from '../../../src/api/http/deps';
import { DOWNLOADS, LARGE_BODIES, Slots } from '../../../src/api/http/slots';
import { serve } from '../../../src/api/http/route';
import { openApiDocument } from '../../../src/api/openapi/document';
import { Failure } from '../../../src/domain/failures';
import { readConfig } from '../../../src/settings/config';

/* The promise of docs/api-policy.md for an operation that will go. Today there is none. */

const deprecated = { since: '2027-01-15', sunset: '2027-08-01' };
const [row] = routes({ config: readConfig({}) }).filter(({ operation }) => operation.id === 'getForecast');
if (!row) throw new Error('there is no forecast');
const old = { ...row, operation: { ...row.operation, deprecated } };

test('each response of it says since when, and until when, also one that refuses', async () => {
  const refused = new Failure('unauthenticated', 'no token');
  const slots = { bodies: new Slots(LARGE_BODIES), downloads: new Slots(DOWNLOADS) };
  const handler = serve({} as ApiDeps, () => Promise.reject(refused), slots, old);
  const headers: Record<string, string> = {};
  const response = { set: (given: object) => Object.assign(headers, given) } as unknown as Response;

  await expect(handler({} as Request, response, () => undefined)).rejects.toBe(refused);
  expect(headers).toEqual({ Deprecation: '@1799971200', Sunset: 'Sun, 01 Aug 2027 00:00:00 GMT' });
});

test('the document says it too, and until when tools may rely on it', () => {
  const told = openApiDocument([old]).paths['/v1/forecast']?.['get'];
  expect(told).toMatchObject({ deprecated: true, 'x-sunset': '2027-08-01' });
  expect(openApiDocument([row]).paths['/v1/forecast']?.['get']).not.toHaveProperty('deprecated');
});
