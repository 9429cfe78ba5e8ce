import { recurringRules } from '../../src/config';
import { row, type Database } from '../../src/database/connection';
import type { ServedApi } from './api';
import { runSchedule } from './schedule';
import { answerBill, charge, settleOfEachKind } from './settled';
import { answerCharges, makeSchedule, standingApproval, type Standing } from './standing';

/** Something of each kind that the console shows, of one merchant, its provider and its bank. */
export interface ConsoleData extends Standing {
  /** Past due for want of money. */
  scheduleId: string;
  /** Open: the bank approved this charge, and declined it afterwards. */
  exceptionId: string;
  reference: string;
}

const DAY_MS = 86_400_000;

export async function consoleData(db: Database, { deps: { ring, config } }: ServedApi): Promise<ConsoleData> {
  const standing = await standingApproval(db, ring);
  await settleOfEachKind(db, ring, standing);
  const scheduleId = await makeSchedule(db, ring, standing, { description: 'Gold plan' });
  const run = () => runSchedule(db, ring, recurringRules(config), scheduleId);
  await run();
  await answerCharges(db, ring, standing, 'insufficient_funds');
  await run();
  for (const days of [3, 9, 20]) {
    const startAt = new Date(Date.now() + days * DAY_MS);
    await makeSchedule(db, ring, standing, { startAt, description: 'Silver plan' });
  }
  const { id, reference } = await charge(db, ring, standing);
  await answerBill(db, ring, standing, id, null);
  const exception = await row<{ id: string }>(
    db,
    'SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id',
    { id },
  );
  return { ...standing, scheduleId, exceptionId: exception?.id ?? '', reference };
}
