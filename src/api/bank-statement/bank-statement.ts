import type { Request } from 'express';
import { z } from 'zod';
import { DIFFERENCE_COLUMNS, readDifferences } from '../../database/bank-statement/difference';
import {
  acceptStatement,
  discardPages,
  readStatement,
  type ArrivedStatement,
  type Statement,
} from '../../database/bank-statement/statement';
import { formatInstant } from '../../domain/calendar';
import { counted } from '../../domain/words/counted';
import { formatAmount } from '../../domain/money';
import type { Caller } from '../access/authentication';
import type { ApiDeps } from '../deps';
import { bodyChunks, requireType } from '../http/body';
import type { Download } from '../http/download';
import { day, id } from '../http/fields';
import { Places } from '../http/places';
import type { Call, PathCall, Received, Upload } from '../http/route';
import { FORMATS, linesLimit, stageStatement, type CoveredDays, type StatementType } from './intake';

/** A bank's statements: what it says that it booked, compared with what the network has. */

const GIBIBYTE = 1024 ** 3;
/** At its slowest the largest file takes a little more than an hour. */
const PACE = { graceMs: 30_000, leastBytesPerS: 256 * 1024 };
/**
 * Files that one process takes in at a time: each is a tenth of a second of its processor for every
 * megabyte.
 */
const UPLOADS = { what: 'statements', all: 8, ofCaller: 2, retryAfterS: 10 };

export const statementQuery = z.strictObject({
  from: day
    .meta({
      description:
        'In your first file, the day from which what settled is expected in your files; without it that is the day of the earliest line',
    })
    .optional(),
  through: day
    .meta({
      description:
        'The file covers all currencies up to this day, also where its lines end earlier; at most the bank’s today',
      example: '2026-03-03',
    })
    .optional(),
});

export function statementUpload(): Upload<ArrivedStatement, CoveredDays> {
  const uploads = new Places(UPLOADS);

  async function receive(
    req: Request,
    deps: ApiDeps,
    bank: Caller,
    query: CoveredDays,
  ): Promise<Received<ArrivedStatement>> {
    const type = requireType(req, Object.keys(FORMATS) as StatementType[]);
    uploads.enter(bank);
    try {
      const bytes = bodyChunks(req, GIBIBYTE, PACE);
      const limit = linesLimit(deps.config);
      const arrived = await stageStatement(deps.db, limit, bank.entityId, type, bytes, query);
      const { sha256, from, through } = arrived;
      const said = `${type} ${sha256.toString('hex')} ${JSON.stringify({ from, through })}`;
      return {
        body: arrived,
        indexes: deps.ring.blindIndexes('idempotency.body', said),
        // Nothing where they are the statement's by now. What stays is swept away later.
        release: () => discardPages(deps.db, arrived.statementId).catch(() => undefined),
      };
    } finally {
      uploads.leave(bank);
    }
  }

  return { types: EXAMPLES, limitBytes: GIBIBYTE, receive };
}

const EXAMPLES: Record<StatementType, { description: string; example: string }> = {
  'text/csv': {
    description:
      'RFC 4180 in UTF-8. The header names the columns `bankTransactionId`, `bookingDate`, `amount`, `currency` and `direction`, and optionally `reference`, in any order; others are passed over',
    example:
      'bankTransactionId,bookingDate,amount,currency,direction,reference\r\nFT26081XK2,2026-03-22,1500.00,NGN,debit,\r\n',
  },
  'application/xml': {
    description: 'ISO 20022 `camt.053.001.02` to `camt.053.001.13` in UTF-8, without a document type',
    example: '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt/></Document>',
  },
};

export function sendStatement({ accept, body, caller, deps }: Call<ArrivedStatement, CoveredDays>) {
  return accept(async (trx) => {
    const statement = await acceptStatement(trx, caller.entityId, body, linesLimit(deps.config));
    const { statementId, status } = statement;
    return { message: messageOf(statement), data: { statementId, status } };
  });
}

function messageOf({ status, summary: { lines } }: Statement): string {
  const said = { processing: 'is being matched', completed: 'is matched', failed: 'was given up' };
  return `The statement of ${counted(lines, 'lines')} ${said[status]}`;
}

export const statementPath = z.strictObject({ statementId: id('statement') });

export async function showStatement({ caller, deps, params }: PathCall<typeof statementPath>) {
  const statement = await readStatement(deps.db, params.statementId, caller.entityId);
  const { statementId, status, summary, createdAt, endedAt } = statement;
  return {
    message: messageOf(statement),
    data: {
      statementId,
      status,
      summary,
      differencesUrl: `/v1/bank/statements/${statementId}/differences.csv`,
      createdAt: formatInstant(createdAt),
      completedAt: endedAt && formatInstant(endedAt),
    },
  };
}

export async function differencesFile({
  caller,
  deps,
  params,
}: PathCall<typeof statementPath>): Promise<Download> {
  const { statementId } = await readStatement(deps.db, params.statementId, caller.entityId);
  const pages = shownPages(deps, statementId);
  return { fileName: 'differences.csv', columns: DIFFERENCE_COLUMNS, pages };
}

async function* shownPages({ db }: ApiDeps, statementId: string): AsyncGenerator<object[], void, void> {
  for await (const page of readDifferences(db, statementId)) {
    yield page.map((one) => ({
      ...one,
      amount: shownAmount(one.amount, one.currency),
      networkAmount: shownAmount(one.networkAmount, one.networkCurrency),
    }));
  }
}

const shownAmount = (minor: string | undefined, currency: string | undefined) =>
  minor === undefined || currency === undefined ? null : formatAmount(BigInt(minor), currency);
