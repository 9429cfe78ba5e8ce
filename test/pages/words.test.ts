import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { whyDeclined } from '../../packages/pages/browser/console/words';
import { eventInWords, reasonInWords } from '../../packages/pages/browser/parts/payment-words';
import type { Charge, SandboxState } from '../../packages/sandbox/src/state';
import { standingOf } from '../../packages/pages/browser/sandbox/words';

const folder = join(__dirname, '../../src/database');
const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(folder, file), 'utf8'))
  .join('\n');

it('has words for whatever is recorded of an exception', () => {
  // An operator's act has a name of its own in the operator's record.
  const named = [...code.matchAll(/(?<!action(?:: | = ))'(exception\.\w+)'/g)].map(([, type = '']) => type);
  // The type of a refused answer is put together from what it is about.
  const types = new Set([...named, 'exception.answer_refused']);
  expect(types.size).toBeGreaterThan(4);
  expect([...types].filter((type) => eventInWords({ type }) === type)).toEqual([]);
});

it.each(['constructor', '__proto__', 'toString'])('shows %s as the words of its bank', (declineReason) => {
  expect(reasonInWords(declineReason)).toBe(declineReason);
  expect(whyDeclined({ declineReason, bankName: 'First Bank' })).toBe('These are the words of First Bank.');
});

it.each([
  ['pending', 'paid, refund waits for the bank'],
  ['completed', 'paid, refunded'],
])('says of a charge whose refund is %s that it is %s', (status, words) => {
  const charge = { status: 'successful', reference: 'A', amount: 5, refundedAmount: 5 } as Charge;
  const refunds = [{ originalReference: 'A', status }] as SandboxState['refunds'];
  expect(standingOf(charge, { refunds }).words).toBe(words);
});
