import { hasEnded, permitted, statusOf } from '../../../src/domain/recurring/recurring';

describe('the status of a schedule', () => {
  const facts = { ended: null, suspended: false, paused: false, overdue: false };

  it.each([
    ['active while nothing is wrong', {}, 'active'],
    ['past_due while a declined billing has not ended', { overdue: true }, 'past_due'],
    ['paused, even while a billing is overdue', { paused: true, overdue: true }, 'paused'],
    ['suspended, even while it is paused too', { suspended: true, paused: true }, 'suspended'],
    ['cancelled, whatever else holds', { ended: 'cancelled', suspended: true, paused: true }, 'cancelled'],
  ] as const)('is %s', (_, given, status) => {
    expect(statusOf({ ...facts, ...given })).toBe(status);
  });

  it.each([
    ['active', false],
    ['past_due', false],
    ['paused', false],
    ['suspended', false],
    ['completed', true],
    ['cancelled', true],
    ['failed', true],
  ] as const)('%s: ended is %s', (status, ended) => {
    expect(hasEnded(status)).toBe(ended);
  });
});

describe('what an agreement lets a schedule do', () => {
  const standing = {
    decision: 'approve_recurring',
    blocked: false,
    currency: 'NGN',
    merchantTrusted: true,
    merchantActive: true,
    bankActive: true,
    span: null,
  };

  it.each([
    ['charge under a standing approval', {}, 'charge'],
    ['wait when each charge needs a yes of its own', { decision: 'approve_once' }, 'not_approved'],
    ['wait while the customer has suspended it', { decision: 'suspended' }, 'not_approved'],
    [
      'wait while the merchant is not trusted',
      { merchantTrusted: false, bankActive: false },
      'merchant_not_trusted',
    ],
    ['wait while the merchant is disabled', { merchantActive: false }, 'party_disabled'],
    ['wait while the bank is disabled', { bankActive: false }, 'party_disabled'],
    ['wait while the customer pauses', { span: 'consent_paused', merchantTrusted: false }, 'consent_paused'],
    [
      'wait while the agreement bills in another currency',
      { currency: 'JPY', span: 'consent_expired' },
      'not_approved',
    ],
    ['end when the customer denies', { decision: 'deny' }, 'cancel'],
    ['end when the customer blocks the merchant', { decision: 'deny', blocked: true }, 'cancel'],
    ['end on a denial, also without trust', { decision: 'deny', merchantTrusted: false }, 'cancel'],
  ] as const)('is to %s', (_, given, expected) => {
    expect(permitted({ ...standing, ...given }, 'NGN')).toBe(expected);
  });
});
