import { BANK_FILE_SORTS, listBankFiles, readReached } from '../../database/bank-file/list-bank-files';
import {
  acceptBankFile,
  discardPages,
  readBankFile,
  type ArrivedBankFile,
  type BankFile,
} from '../../database/bank-file/receive-bank-file';
import { counted } from '../../domain/words/counted';
import { BANK } from '../http/callers';
import { Slots } from '../http/slots';
import { differencesFile as contentOf } from '../../files/bank-file/differences-file';
import { stageBankFile, type CoveredDays, type BankFileType } from '../../files/bank-file/intake';
import { listAnswer } from '../http/list';
import type { Call, PathCall, QueryCall } from '../http/call';
import { section, type Arriving, type LongBody, type Received } from '../http/route';
import { z } from 'zod';
import { day, id, oneOf, pagination } from '../http/request-fields';
import { exampleId } from '../http/example';
import * as shown from '../http/response-fields';

const fileQuery = z.strictObject({
  from: day
    .meta({
      description:
        'The day from which what settled is expected in your files. Without it that is the earliest day of your first file; a later file may move it back. At most the bank’s today',
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

const FILES: Record<BankFileType, { description: string; example: string }> = {
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
  'application/octet-stream': {
    description: 'Either of them, told by its first character; for clients that send files as bytes',
    example:
      'bankTransactionId,bookingDate,amount,currency,direction\r\nFT26081XK2,2026-03-22,1500.00,NGN,debit\r\n',
  },
};

const filesQuery = z.strictObject(pagination(Object.keys(BANK_FILE_SORTS) as ['createdAt']));

const filePath = z.strictObject({ statementId: id('statement') });

const summaryShown = z
  .strictObject({
    lines: shown.count('Lines of the file, without its header; each is one of the following', 5),
    matched: shown.count('The network has the same', 2),
    duplicates: shown.count('The file has said it before', 0),
    unknownHere: shown.count('The network counts no such transaction', 1),
    missingAtBank: shown.count(
      'Settled business days before what your files reach, in none of them, and told by this one first; these are no lines',
      1,
    ),
    amountDiffers: shown.count('The network has another amount, currency or direction', 1),
    malformed: shown.count('Cannot be read', 1),
    pending: shown.count('Have the reference of a charge or refund that had not ended', 0),
    notKept: shown.count('Lines above that differ, and are not in the file of differences', 0),
  })
  .meta({ id: 'BankStatementSummary' });

const sentFile = z.strictObject({
  statementId: shown.id('statement'),
  status: oneOf(
    ['processing', 'completed', 'failed', 'withdrawn'],
    '`processing` while it is matched; `failed` where lines of it were lost, by a restored back-up for one: send it again with any change, as an empty line at its end; `withdrawn` by the operator: it counts no more',
    'processing',
  ),
});

const bankFile = sentFile
  .extend({
    summary: summaryShown,
    differencesUrl: shown.words(
      'Path of the CSV file, below the address of this API',
      `/v1/bank/statements/${exampleId('statement')}/differences.csv`,
    ),
    createdAt: shown.moment('When it had arrived'),
    completedAt: shown.moment('When all of it was compared').nullable(),
  })
  .meta({ id: 'BankStatement' });

const dayOfFile = (description: string, example: string) => shown.day(description, example).nullable();

const listedFile = sentFile
  .extend({
    createdAt: shown.moment('When it had arrived'),
    from: dayOfFile('Its first day: the `from` that you said, or that of its earliest line', '2026-03-01'),
    through: dayOfFile('Its last day: the `through` that you said, or that of its latest line', '2026-03-31'),
    summary: summaryShown,
  })
  .meta({ id: 'ListedBankStatement' });

const bankFiles = shown.pageOf('statements', listedFile).extend({
  reached: z.record(z.string(), shown.day('The last day', '2026-03-31')).meta({
    description:
      'The last day that your completed statements reach, by the code of each currency in which you have settlements or lines; without a code where they reach none',
    example: { NGN: '2026-03-31' },
  }),
});

/** Bank files: what a bank says that it booked, compared with what the network has. */

const GIBIBYTE = 1024 ** 3;
/** At its slowest the largest file takes a little more than an hour. */
const PACE = { graceMs: 30_000, leastBytesPerS: 256 * 1024 };
/**
 * Files that one process takes in at a time: each is a tenth of a second of its processor for every
 * megabyte.
 */
const UPLOADS = { what: 'statements', all: 8, ofCaller: 2, retryAfterS: 10 };

function bankFileBody(): LongBody<ArrivedBankFile, CoveredDays> {
  const uploads = new Slots(UPLOADS);

  async function receive({
    type,
    bytes,
    deps,
    caller: bank,
    query,
  }: Arriving<CoveredDays>): Promise<Received<ArrivedBankFile>> {
    const { STATEMENT_LINES_PER_DAY: limit } = deps.config;
    const arrived = await uploads.hold(bank, () =>
      stageBankFile(deps.db, limit, { bankId: bank.entityId, type: type as BankFileType, bytes, ...query }),
    );
    const { sha256, from, through } = arrived;
    const said = `${type} ${sha256.toString('hex')} ${JSON.stringify({ from, through })}`;
    return {
      body: arrived,
      indexes: deps.db.keyring.blindIndexes('idempotency.body', said),
      // Accepted pages stay. The sweep takes away pages that cannot be discarded now.
      async release(mayBeAccepted) {
        if (!mayBeAccepted) await discardPages(deps.db, arrived.statementId).catch(() => undefined);
      },
    };
  }

  return { types: FILES, limitBytes: GIBIBYTE, pace: PACE, receive };
}

function sendFile({ accept, body, caller, deps }: Call<ArrivedBankFile, CoveredDays>) {
  return accept(async (trx) => {
    const file = await acceptBankFile(trx, caller.entityId, body, deps.config.STATEMENT_LINES_PER_DAY);
    const { statementId, status } = file;
    return { message: messageOf(file), data: { statementId, status } };
  });
}

function messageOf({ status, summary: { lines } }: BankFile): string {
  const said = {
    processing: 'is being matched',
    completed: 'is matched',
    failed: 'was given up',
    withdrawn: 'is withdrawn',
  };
  return `The statement of ${counted(lines, 'lines')} ${said[status]}`;
}

async function listFiles({ caller, query, deps: { db } }: QueryCall<typeof filesQuery>) {
  const found = await listBankFiles(db, caller.entityId, query);
  const { message, data } = listAnswer(['statement', 'statements'], found, query, (file) =>
    shown.fieldsOf(listedFile, file),
  );
  return { message, data: { ...data, reached: await readReached(db, caller.entityId) } };
}

async function showFile({ caller, deps, params }: PathCall<typeof filePath>) {
  const file = await readBankFile(deps.db, params.statementId, caller.entityId);
  const differencesUrl = `/v1/bank/statements/${file.statementId}/differences.csv`;
  const fields = shown.fieldsOf(bankFile, file);
  return {
    message: messageOf(file),
    data: { ...fields, differencesUrl, completedAt: file.endedAt },
  };
}

async function differencesFile({ caller, deps, params }: PathCall<typeof filePath>) {
  const file = await readBankFile(deps.db, params.statementId, caller.entityId);
  return { fileName: 'differences.csv', ...contentOf(deps.db, file) };
}

const route = section('Reconciliation');
const STATEMENT = '/v1/bank/statements/:statementId';
const refusals = { not_found: 'You have no such statement' };

export const bankFileRoutes = () => [
  route('post', '/v1/bank/statements', {
    id: 'sendBankStatement',
    summary: 'Send what you have booked',
    description:
      'Compares what you have booked with what the network expects you to book: charges, refunds and reversals under the `bankTransactionId` that you gave, and the credit of a payment between customers under its reference. A line with that id, amount, currency and side is matched. So is one with the reference of a charge or refund that no other line has. A line that settles nothing is an exception of its charge or refund until a line of the whole amount on the other side takes it back. A booking that none of your files has is missing once the files reach two business days past its settlement day. Each difference becomes a reconciliation exception, once however many statements tell of it; at most 1 000 of a file do, and at most 10 000 of yours are open: the rest is counted, and stands in the differences, which are kept up to 16 MiB of your files of a day. `direction` is the customer’s side: a charge is a `debit`, a refund a `credit`. In a camt.053 the id is `AcctSvcrRef`, the reference `EndToEndId`. A line that is malformed is counted and stops nothing. The file may have 1 GiB, and is read while it arrives, at 256 KiB a second or more. The same file again, with the same `from` and `through`, is the same statement. You may send 1 000 files a day, with 2 000 000 lines in all: a file that passes them is a 429 and leaves nothing.',
    takes: { ...BANK, scope: 'manage', query: fileQuery, longBody: bankFileBody(), idempotent: true },
    answers: {
      202: { description: 'The statement of 5 lines is being matched', data: sentFile },
    },
    handle: sendFile,
  }),
  route('get', '/v1/bank/statements', {
    id: 'listBankStatements',
    summary: 'List your statements',
    description:
      'The statements that you have sent, newest first, and how far they reach: a booking is missing once they reach two business days past its settlement day.',
    takes: { ...BANK, query: filesQuery },
    answers: { 200: { description: '1 statement', data: bankFiles } },
    handle: listFiles,
  }),
  route('get', STATEMENT, {
    id: 'getBankStatement',
    summary: 'Retrieve a statement of yours',
    description:
      'One of your statements. While it is matched, `summary` counts what has been compared so far.',
    takes: { ...BANK, params: filePath },
    answers: {
      200: {
        description: 'The statement of 5 lines is matched',
        data: bankFile,
        example: { status: 'completed' },
      },
    },
    refusals,
    handle: showFile,
  }),
  route('get', `${STATEMENT}/differences.csv`, {
    id: 'downloadBankStatementDifferences',
    summary: 'Download the differences of a statement',
    description:
      'CSV with the columns `line`, `difference` (`unknown_here`, `amount_differs`, `duplicate`, `malformed`, `missing_at_bank`), what the line says (`bankTransactionId`, `bookingDate`, `direction`, `amount`, `currency`, `reference`), what the network has (`networkReference`, `networkAmount`, `networkCurrency`), `exceptionId` and `problem`. While the statement is matched, the file has what has been found so far. A difference that became no exception stays in it for 13 months. Where `notKept` are not in it, the `problem` of a last line says how many.',
    takes: { ...BANK, params: filePath },
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals,
    handle: differencesFile,
  }),
];
