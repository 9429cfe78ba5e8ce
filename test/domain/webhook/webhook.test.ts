import { failureInWords } from '../../../src/domain/webhook/webhook';

it.each<[number | null, string, string]>([
  [500, 'HTTP 500', 'answered 500'],
  [302, 'HTTP 302: redirects are not followed', 'answered 302'],
  [null, 'no answer within 10000 ms', 'no answer within 10 s'],
  [null, 'connection refused', 'refused the connection'],
  [null, 'request failed (CERT_HAS_EXPIRED)', 'its certificate has expired'],
  [null, 'request failed (https://shop.example/?key=secret)', 'the request failed'],
  [null, 'constructor', 'the request failed'],
])('a history says in words of its own why a webhook failed: %j, %j', (httpStatus, error, words) => {
  expect(failureInWords({ httpStatus, error })).toBe(words);
});
