import { Failure } from '../../domain/failures';
import type { ExceptionState } from '../../domain/lifecycle';
import type { ExceptionKind, Resolution } from '../../domain/books/reconciliation-exception';
import { recordAct, type Actor } from '../audit';
import { row, rows, type Executor, type Transaction } from '../connection';
import type { Keyring } from '../keys/keyring';
import { allOf, literal } from '../list';
import {
  EXCEPTION_COLUMNS,
  UNKNOWN_EXCEPTION,
  withStory,
  type ExceptionFound,
  type ExceptionRecord,
} from './read';
import { resolveException, takeException, type ResolvedException } from './resolve';

/** The operator's side of reconciliation exceptions: everybody's, and each act with its record. */

/** An exception with what only the operator is shown. */
export interface OperatorsException extends ExceptionRecord {
  /** Who has taken it. */
  owner: string | null;
  operatorNote: string | null;
  /** Minor units of the charge that cannot be refunded meanwhile. */
  held: bigint;
  /** What the bank took the money back by. */
  reversalBankTransactionId: string | null;
  /** How long it has been there, by the database's clock. */
  ageS: number;
}

const OPERATORS_COLUMNS = `${EXCEPTION_COLUMNS}, x.owner, x.operator_note AS "operatorNote", x.held,
  x.reversal_bank_transaction_id AS "reversalBankTransactionId",
  extract(epoch FROM clock_timestamp() - x.recorded_at)::float8 AS "ageS"`;

/** Oldest first. @param filter without a state all that are not resolved */
export async function operatorsExceptions(
  db: Executor,
  filter: {
    state?: ExceptionState | undefined;
    kind?: ExceptionKind | undefined;
    entityId?: string | undefined;
  },
  limit: number,
): Promise<OperatorsException[]> {
  const { state, kind, entityId } = filter;
  const asked = allOf(
    state === undefined ? `x.state <> 'resolved'` : `x.state = ${literal(state)}`,
    kind !== undefined && `x.kind = ${literal(kind)}`,
    entityId !== undefined && ':entityId IN (x.bank_id, x.merchant_id, x.provider_id, x.payee_bank_id)',
  );
  return rows<OperatorsException>(
    db,
    `SELECT ${OPERATORS_COLUMNS} FROM reconciliation_exceptions x WHERE ${asked}
     ORDER BY x.recorded_at, x.id LIMIT :limit`,
    { entityId, limit },
  );
}

/** @throws Failure not_found */
export async function operatorsException(
  db: Executor,
  exceptionId: string,
): Promise<ExceptionFound<OperatorsException>> {
  const exception = await row<OperatorsException>(
    db,
    `SELECT ${OPERATORS_COLUMNS} FROM reconciliation_exceptions x WHERE x.id = :exceptionId`,
    { exceptionId },
  );
  if (!exception) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  return withStory(db, exception);
}

/** Takes it, or takes it over. @throws Failure not_found; conflict */
export async function takeAsOperator(trx: Transaction, by: Actor, exceptionId: string): Promise<void> {
  const { bankId, before, changed } = await takeException(trx, exceptionId, {
    owner: by.actor,
    note: by.reason,
  });
  if (!changed) return;
  await recordAct(trx, by, {
    action: 'exception.taken',
    entityId: bankId,
    before: { exceptionId, ...before },
    after: { exceptionId, state: 'investigating', owner: by.actor },
  });
}

/**
 * @param timeZone of the network, for the ledger's day
 * @throws Failure not_found; conflict
 */
export async function resolveAsOperator(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Actor,
  exceptionId: string,
  finding: { resolution: Resolution; bankTransactionId: string | null },
): Promise<ResolvedException> {
  const { bankId, changed, before, ...resolved } = await resolveException(
    trx,
    keyring,
    timeZone,
    { cause: 'operator', note: by.reason },
    exceptionId,
    finding,
  );
  if (changed) {
    await recordAct(trx, by, {
      action: 'exception.resolved',
      entityId: bankId,
      before: { exceptionId, state: before },
      after: resolved,
    });
  }
  return resolved;
}
