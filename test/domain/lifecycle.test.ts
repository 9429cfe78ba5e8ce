import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGREEMENT_DECISIONS,
  BILLING_REQUEST_STATUSES,
  BILLING_STATUSES,
  DELIVERY_STATUSES,
  EXCEPTION_STATES,
  INTENT_STATUSES,
  REFUND_STATUSES,
} from '../../src/domain/lifecycle';
import { SCHEDULE_STATUSES } from '../../src/domain/recurring/recurring';

describe('the database', () => {
  const folder = join(__dirname, '../../migrations');
  const schema = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');

  /** The values of `CHECK (column IN ('…'))`, in a table's definition or a later change of it. */
  function checked(table: string, column: string): string[] {
    const definition = schema.slice(schema.indexOf(`CREATE TABLE ${table} (`));
    const changed = new RegExp(
      `ADD CONSTRAINT ${table}_${column}_check CHECK \\(${column} IN\\s*\\(([^)]*)\\)`,
    ).exec(schema);
    const list =
      changed ??
      new RegExp(`\\b${column}\\s+text NOT NULL[^)]*?CHECK \\(${column} IN\\s*\\(([^)]*)\\)`).exec(
        definition,
      );
    return (list?.[1] ?? '').split(',').map((value) => value.trim().replaceAll("'", ''));
  }

  it.each([
    ['intents', 'status', INTENT_STATUSES],
    ['agreements', 'decision', AGREEMENT_DECISIONS],
    ['billing_requests', 'status', BILLING_REQUEST_STATUSES],
    ['schedules', 'status', SCHEDULE_STATUSES],
    ['refunds', 'status', REFUND_STATUSES],
    ['reconciliation_exceptions', 'state', EXCEPTION_STATES],
    ['webhook_deliveries', 'status', DELIVERY_STATUSES],
  ])('knows the same states of %s', (table, column, states) => {
    expect(checked(table, column).sort()).toEqual([...states].sort());
  });

  it('has a row of a billing from its first attempt on: all its states but scheduled', () => {
    expect(['scheduled', ...checked('billings', 'status')].sort()).toEqual([...BILLING_STATUSES].sort());
  });
});
