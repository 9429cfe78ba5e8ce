import { counted } from '../../../src/domain/words/counted';

test.each([
  [0, 'webhooks', '0 webhooks'],
  [1, 'webhooks', '1 webhook'],
  [2, 'webhooks', '2 webhooks'],
  [1, 'open workflows', '1 open workflow'],
] as const)('%i %s are told as "%s"', (count, things, words) => {
  expect(counted(count, things)).toBe(words);
});
