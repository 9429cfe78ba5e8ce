import { recurringRules } from '../../src/settings/config';
import { changeEndpoint } from '../../src/database/entity-control/control-entity';
import { OPERATOR } from './operator';
import type { Database } from '../../src/database/pool/connection';
import { raw } from '../../src/database/pool/statement';
import { announceAny } from './announce-any';
import { send, tokenOf, type ServedApi } from './api';
import { runSchedule } from './schedule';
import { answerBill, charge, exceptionOf, settleOfEachKind } from './settled';
import { answerCharges, makeSchedule, standingApproval, type Standing } from './standing';
import { dayOf } from './statements';
import { workOnFile } from './bank-file';
import { recordOutcome } from './record-outcome';

/** Something of each kind that the console shows, of one merchant, its provider and its bank. */
interface ConsoleData extends Standing {
  /** Past due for want of money. */
  scheduleId: string;
  /** Open: the bank approved this charge, and declined it afterwards. */
  exceptionId: string;
  reference: string;
  /** A charge of which a part was given back. */
  chargeId: string;
  refundId: string;
}

const DAY_MS = 86_400_000;

async function consoleData(db: Database, { deps: { config } }: ServedApi): Promise<ConsoleData> {
  const standing = await standingApproval(db);
  const { chargeId, refundId } = await settleOfEachKind(db, standing);
  const scheduleId = await makeSchedule(db, standing, { description: 'Gold plan' });
  const run = () => runSchedule(db, recurringRules(config), scheduleId);
  await run();
  await answerCharges(db, standing, 'insufficient_funds');
  await run();
  for (const days of [3, 9, 20]) {
    const startAt = new Date(Date.now() + days * DAY_MS);
    await makeSchedule(db, standing, { startAt, description: 'Silver plan' });
  }
  const { id, reference } = await charge(db, standing);
  await answerBill(db, standing, id, null);
  return { ...standing, scheduleId, exceptionId: await exceptionOf(db, id), reference, chargeId, refundId };
}

/** That, and what comes of it in time: a month of the merchant's has passed since. */
export interface ConsoleHistory extends ConsoleData {
  /** On which everything of it settled. */
  day: string;
  /** The charge's id at its bank. */
  bankTransactionId: string;
  /** The bank's file of that day, and an exception that came of it. */
  statementId: string;
  unknownId: string;
  /** An exception, as is `unknownId`. */
  resolvedId: string;
  /** A webhook to the merchant, tried once in vain. */
  deliveryId: string;
}

/** More than a page of the list of deliveries has. */
const FAILED_DELIVERIES = 25;

export async function consoleHistory(db: Database, api: ServedApi): Promise<ConsoleHistory> {
  const data = await consoleData(db, api);
  const { merchantId, chargeId } = data;
  const day = await dayOf(db, merchantId);
  const bankTransactionId = `tx-${chargeId}`;
  const statementId = await sendStatement(db, api, data, [
    `FT-UNKNOWN-1,${day},7.5,NGN,debit,`,
    `${bankTransactionId},${day},2,NGN,debit,`,
    'FT-UNREADABLE-1,some day,1,NGN,debit,',
  ]);
  const exceptionWhere = async (condition: string) =>
    (
      await db.row<{ id: string }>`
    SELECT id FROM reconciliation_exceptions WHERE bank_id = ${data.bankId} AND ${raw(condition)} ORDER BY id
    LIMIT 1`
    )?.id ?? '';

  const tell = (count: number) =>
    db.transaction((trx) =>
      announceAny(
        trx,
        Array.from({ length: count }, () => ({
          entityId: merchantId,
          webhookType: 'billing.response' as const,
          items: [{ billingRequestId: chargeId, sequence: 2 }],
        })),
      ),
    );
  await tell(FAILED_DELIVERIES);
  await db.transaction((trx) => changeEndpoint(trx, OPERATOR, merchantId, 'http://127.0.0.1:9/hook'));
  const [deliveryId = '', arrivedId = ''] = await tell(2);
  await recordOutcome(db, deliveryId, 1, { httpStatus: 503, error: 'HTTP 503', responseHead: '' });
  await recordOutcome(db, arrivedId, 1, { responseHead: '' });
  // A month by the clocks of the network: by UTC it may be two, for an hour of the night.
  await db.rows`
    UPDATE entities SET clock_offset =
      ((clock_timestamp() AT TIME ZONE ${api.deps.config.NETWORK_TIMEZONE}) + interval '1 month') AT TIME ZONE ${api.deps.config.NETWORK_TIMEZONE} - clock_timestamp()
    WHERE id = ${merchantId}`;
  return {
    ...data,
    day,
    bankTransactionId,
    statementId,
    unknownId: await exceptionWhere(`kind = 'unknown_here'`),
    resolvedId: await exceptionWhere(`resolution = 'no_money_moved'`),
    deliveryId,
  };
}

/** Sends what a bank has booked, and compares it. */
async function sendStatement(
  db: Database,
  api: ServedApi,
  { credentials }: Standing,
  lines: string[],
): Promise<string> {
  const file = ['bankTransactionId,bookingDate,amount,currency,direction,reference', ...lines, ''].join(
    '\r\n',
  );
  const { body } = await send(api.url, 'POST', '/v1/bank/statements', file, {
    'content-type': 'text/csv',
    authorization: `Bearer ${await tokenOf(api, credentials.bank)}`,
  });
  const statementId = String(body.data?.['statementId']);
  await workOnFile(db, statementId);
  return statementId;
}
