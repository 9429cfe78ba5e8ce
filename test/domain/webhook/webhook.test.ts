import { failureInWords } from '../../../src/domain/webhook/webhook';

it.each<[number | null, string, string]>([
  [500, 'HTTP 500', 'answered 500'],
  [302, 'HTTP 302: redirects are not followed', 'answered 302'],
  [null, 'connection refused', 'connection refused'],
])('a history says why a webhook failed: %j, %j', (httpStatus, error, words) => {
  expect(failureInWords({ httpStatus, error })).toBe(words);
});
