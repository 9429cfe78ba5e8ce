import { z } from 'zod';
import { exampleId } from './example';
import type { Operation } from './operation';
import { count, moment, shownId, words } from './parts';

const status = z.enum(['processing', 'completed', 'failed']).meta({
  description:
    '`processing` while it is matched; `failed` where lines of it were lost, by a restored back-up for one: send it again with any change, as an empty line at its end',
  example: 'processing',
});

const summary = z
  .strictObject({
    lines: count('Lines of the file, without its header; each is one of the following', 5),
    matched: count('The network has the same', 2),
    duplicates: count('The file has said it before', 0),
    unknownHere: count('The network counts no such transaction', 1),
    missingAtBank: count(
      'Settled business days before what your files reach, in none of them, and told by this one first; these are no lines',
      1,
    ),
    amountDiffers: count('The network has another amount, currency or direction', 1),
    malformed: count('Cannot be read', 1),
  })
  .meta({ id: 'BankStatementSummary' });

const statementFields = { statementId: shownId('statement'), status };

export const BANK_STATEMENTS = {
  'POST /v1/bank/statements': {
    id: 'sendBankStatement',
    tag: 'Reconciliation',
    summary: 'Send what you have booked',
    description:
      'Compares what you have booked with what the network expects you to book: charges, refunds and reversals under the `bankTransactionId` that you gave, and the credit of a payment between customers under its reference. A line with that id, amount, currency and side is matched; nothing else is. What none of your files has is missing once they reach two business days past its settlement day. Each difference becomes a reconciliation exception, once however many statements tell of it; at most 1 000 of a file do, and at most 10 000 of yours are open: the rest is counted, and stands in the differences. `direction` is the customer’s side: a charge is a `debit`, a refund a `credit`. In a camt.053 the id is `AcctSvcrRef`, the reference `EndToEndId`. A line that is malformed is counted and stops nothing. The file may have 1 GiB, and is read while it arrives, at 256 KiB a second or more. The same file again, with the same `from` and `through`, is the same statement. You may send 2 000 000 lines a day: a file that passes them is a 429 and leaves nothing.',
    answers: {
      202: {
        description: 'The statement of 5 lines is being matched',
        data: z.strictObject(statementFields),
      },
    },
  },
  'GET /v1/bank/statements/:statementId': {
    id: 'getBankStatement',
    tag: 'Reconciliation',
    summary: 'Retrieve a statement of yours',
    description:
      'One of your statements. While it is matched, `summary` counts what has been compared so far.',
    answers: {
      200: {
        description: 'The statement of 5 lines is matched',
        data: z
          .strictObject({
            ...statementFields,
            summary,
            differencesUrl: words(
              'Path of the CSV file, below the address of this API',
              `/v1/bank/statements/${exampleId('statement')}/differences.csv`,
            ),
            createdAt: moment('When it had arrived'),
            completedAt: moment('When all of it was compared').nullable(),
          })
          .meta({ id: 'BankStatement' }),
        example: { status: 'completed' },
      },
    },
    refusals: { not_found: 'You have no such statement' },
  },
  'GET /v1/bank/statements/:statementId/differences.csv': {
    id: 'downloadBankStatementDifferences',
    tag: 'Reconciliation',
    summary: 'Download the differences of a statement',
    description:
      'CSV with the columns `line`, `difference` (`unknown_here`, `amount_differs`, `duplicate`, `malformed`, `missing_at_bank`), what the line says (`bankTransactionId`, `bookingDate`, `direction`, `amount`, `currency`, `reference`), what the network has (`networkReference`, `networkAmount`, `networkCurrency`), `exceptionId` and `problem`. While the statement is matched, the file has what has been found so far. What is no exception is in it for 35 days.',
    answers: { 200: { description: 'The file', csv: 'only' } },
    refusals: { not_found: 'You have no such statement' },
  },
} satisfies Record<string, Operation>;
