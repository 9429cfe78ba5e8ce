import type { InHand, RecurringRules, Schedule } from '../../src/domain/recurring/schedule-facts';

/** A schedule as its rules are given it, without a database. */

export const START = new Date('2026-01-31T08:00:00.000Z');

export const rules: RecurringRules = {
  timeZone: 'Africa/Lagos',
  retryDays: [1, 3, 5],
  catchUpPerDay: 3,
  arrearsDays: 35,
  noticeHours: 24,
  dueRate: 20,
};

export const monthly: Schedule = {
  startAt: START,
  frequency: 'monthly',
  interval: 1,
  endAt: null,
  maxBillings: null,
  createdAt: START,
  status: 'active',
  nextN: 0,
  noticedN: null,
  ran: 0,
  failedInARow: 0,
};
export const daily: Schedule = { ...monthly, frequency: 'daily' };

/** The first billing, whose bank has a day to answer. */
export const inHand: InHand = {
  n: 0,
  attempts: 1,
  firstAttemptAt: START,
  lastAttemptAt: START,
  maybeDebited: false,
  isBooked: false,
  lapsed: false,
  status: 'pending',
  retryAt: null,
  chargeStatus: 'pending',
  declineReason: null,
  declinedLimit: null,
  expiresAt: new Date(START.getTime() + 86_400_000),
};
