import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGREEMENT,
  BILLING,
  BILLING_REQUEST,
  EXCEPTION,
  INTENT,
  isFinal,
  mayMove,
  REFUND,
  SCHEDULE,
  statesBefore,
  WEBHOOK_DELIVERY,
  type Lifecycle,
} from '../../src/domain/lifecycle';
import { statusOf } from '../../src/domain/recurring';

/** Every allowed move, as `from → to`. */
function moves(lifecycle: Lifecycle<string>): string[] {
  return Object.entries(lifecycle).flatMap(([from, after]) => after.map((to) => `${from} → ${to}`));
}

describe('an end is final', () => {
  it.each([
    ['intent', INTENT, ['approved', 'declined', 'superseded']],
    ['agreement', AGREEMENT, []],
    ['billing request', BILLING_REQUEST, ['successful', 'declined']],
    ['schedule', SCHEDULE, ['completed', 'cancelled', 'failed']],
    ['billing of a schedule', BILLING, ['successful', 'failed', 'skipped']],
    ['refund', REFUND, ['completed', 'rejected']],
    ['reconciliation exception', EXCEPTION, ['resolved']],
    ['webhook delivery', WEBHOOK_DELIVERY, []],
  ] as [string, Lifecycle<string>, string[]][])('of a %s', (_, lifecycle, ends) => {
    expect(Object.keys(lifecycle).filter((state) => isFinal(lifecycle, state))).toEqual(ends);
  });
});

describe('the moves', () => {
  it('of an intent, of a charge and of a refund are one, out of pending', () => {
    expect(moves(INTENT)).toEqual(['pending → approved', 'pending → declined', 'pending → superseded']);
    expect(moves(BILLING_REQUEST)).toEqual(['pending → successful', 'pending → declined']);
    expect(moves(REFUND)).toEqual(['pending → completed', 'pending → rejected']);
  });

  it('of a delivery lead to an end, and out of it again when the receiver wants it once more', () => {
    expect(moves(WEBHOOK_DELIVERY)).toEqual([
      'pending → delivered',
      'pending → failed',
      'delivered → pending',
      'failed → pending',
    ]);
  });

  it('of an agreement go from any decision to any other, and never back to none', () => {
    const decisions = ['approve_once', 'approve_recurring', 'deny', 'suspended'] as const;
    expect(statesBefore(AGREEMENT, 'pending')).toEqual([]);
    for (const to of decisions) {
      expect(statesBefore(AGREEMENT, to)).toEqual(Object.keys(AGREEMENT).filter((from) => from !== to));
    }
  });

  it('of a billing let only what was declined be tried again, and only what never began be skipped', () => {
    expect(moves(BILLING)).toEqual([
      'scheduled → pending',
      'scheduled → skipped',
      'pending → successful',
      'pending → retrying',
      'pending → failed',
      'retrying → pending',
      'retrying → failed',
    ]);
  });

  it('of a schedule cover every change of the facts that its status follows from', () => {
    const facts = [false, true].flatMap((suspended) =>
      [false, true].flatMap((paused) =>
        [false, true].flatMap((overdue) =>
          ([null, 'completed', 'cancelled', 'failed'] as const).map((ended) => ({
            suspended,
            paused,
            overdue,
            ended,
          })),
        ),
      ),
    );
    const living = facts.filter(({ ended }) => ended === null);
    const reachable = new Set(
      living.flatMap((before) => facts.map((after) => [statusOf(before), statusOf(after)])).map(String),
    );
    const allowed = new Set(moves(SCHEDULE).map((move) => move.replace(' → ', ',')));
    expect([...reachable].filter((move) => new Set(move.split(',')).size === 2).sort()).toEqual(
      [...allowed].sort(),
    );
  });

  it('are looked up both ways', () => {
    expect(mayMove(SCHEDULE, 'active', 'past_due')).toBe(true);
    expect(mayMove(SCHEDULE, 'completed', 'active')).toBe(false);
    expect(statesBefore(BILLING, 'pending')).toEqual(['scheduled', 'retrying']);
  });
});

describe('the database', () => {
  const folder = join(__dirname, '../../migrations');
  const schema = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');

  /** The values of `column … CHECK (column IN ('…'))` in a table's definition. */
  function checked(table: string, column: string): string[] {
    const definition = schema.slice(schema.indexOf(`CREATE TABLE ${table} (`));
    const list = new RegExp(`\\b${column}\\s+text NOT NULL[^)]*?CHECK \\(${column} IN\\s*\\(([^)]*)\\)`).exec(
      definition,
    );
    return (list?.[1] ?? '').split(',').map((value) => value.trim().replaceAll("'", ''));
  }

  it.each([
    ['intents', 'status', INTENT],
    ['agreements', 'decision', AGREEMENT],
    ['billing_requests', 'status', BILLING_REQUEST],
    ['schedules', 'status', SCHEDULE],
    ['refunds', 'status', REFUND],
    ['reconciliation_exceptions', 'state', EXCEPTION],
    ['webhook_deliveries', 'status', WEBHOOK_DELIVERY],
  ] as [string, string, Lifecycle<string>][])('knows the same states of %s', (table, column, lifecycle) => {
    expect(checked(table, column).sort()).toEqual(Object.keys(lifecycle).sort());
  });

  it('has a row of a billing from its first attempt on: all its states but scheduled', () => {
    expect(['scheduled', ...checked('billings', 'status')].sort()).toEqual(Object.keys(BILLING).sort());
  });
});
