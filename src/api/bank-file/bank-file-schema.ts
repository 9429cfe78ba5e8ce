import { z } from 'zod';
import { day, id, oneOf } from '../http/request-fields';
import { exampleId } from '../http/example';
import * as shown from '../http/response-fields';
import type { StatementType } from '../../files/bank-file/intake';

export const statementQuery = z.strictObject({
  from: day
    .meta({
      description:
        'The day from which what settled is expected in your files. Without it that is the earliest day of your first file; a later file may move it back',
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

export const FILES: Record<StatementType, { description: string; example: string }> = {
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

export const statementPath = z.strictObject({ statementId: id('statement') });

const summary = z
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

export const sentStatement = z.strictObject({
  statementId: shown.id('statement'),
  status: oneOf(
    ['processing', 'completed', 'failed', 'withdrawn'],
    '`processing` while it is matched; `failed` where lines of it were lost, by a restored back-up for one: send it again with any change, as an empty line at its end; `withdrawn` by the operator: it counts no more',
    'processing',
  ),
});

export const bankStatement = sentStatement
  .extend({
    summary,
    differencesUrl: shown.words(
      'Path of the CSV file, below the address of this API',
      `/v1/bank/statements/${exampleId('statement')}/differences.csv`,
    ),
    createdAt: shown.moment('When it had arrived'),
    completedAt: shown.moment('When all of it was compared').nullable(),
  })
  .meta({ id: 'BankStatement' });
