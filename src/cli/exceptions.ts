import { Option, type Command } from 'commander';
import type { Finding } from '../database/reconciliation-exception/end-exceptions';
import {
  operatorsExceptions,
  readException,
  type ExceptionRecord,
} from '../database/reconciliation-exception/list-exceptions';
import { resolveException, takeAsOperator } from '../database/resolution/resolve-exception';
import { EXCEPTION_STATES } from '../domain/lifecycle';
import { formatAmount, formatIfAny, inMoney } from '../domain/money';
import { OperatorError } from '../domain/failures';
import { NAME_MAX, parseText } from '../domain/plain-text';
import { EXCEPTION_KINDS, RESOLUTIONS } from '../domain/books/reconciliation-exception';
import { command, onEngine } from './command';
import { anyRing } from './engine';
import { operator, parsedOption, reasonOption, type Explained } from './options';
import { factsOf, shortName, tableOf, TABLE_ROWS_MAX } from './output';

/**
 * `assent exceptions`: records of the network and a bank that may differ, for the operator to
 * resolve.
 */

type Filter = Parameters<typeof operatorsExceptions>[1] & { entity?: string };
type Found = Explained & Pick<Finding, 'resolution'> & Partial<Finding>;

export function fill(exceptions: Command): void {
  command(exceptions, 'list', 'those that are not resolved, oldest first')
    .addOption(new Option('--state <state>', 'only those in this state').choices(EXCEPTION_STATES))
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(EXCEPTION_KINDS))
    .option('--entity <id>', 'only those of this bank, merchant or provider')
    .action(
      onEngine(async (db, _config, { entity: entityId, ...filter }: Filter) => {
        const found = await operatorsExceptions(db, { ...filter, entityId }, TABLE_ROWS_MAX + 1);
        const listed = found.slice(0, TABLE_ROWS_MAX);
        if (found.length > TABLE_ROWS_MAX) {
          process.stderr.write(
            `These are the oldest ${TABLE_ROWS_MAX}: narrow it with --kind or --entity.\n`,
          );
        }
        return { json: { exceptions: listed.map(shown) }, text: exceptionsTable(listed) };
      }, anyRing),
    );

  command(exceptions, 'show', 'one of them, with all that has happened to it')
    .argument('<exceptionId>')
    .action(
      onEngine(async (db, _config, exceptionId: string) => {
        const { exception, answers, events } = await readException(db, exceptionId);
        const said = answers.map(
          ({ at, says, bankTransactionId: id }) =>
            `${at.toISOString()}  the bank said: ${says}${id ? ` ${id}` : ''}`,
        );
        const story = events.map(
          ({ type, at, cause, kind }) =>
            `${at.toISOString()}  ${type}, by ${cause}${kind ? `: ${kind}` : ''}`,
        );
        const json = shown(exception);
        return {
          json: { ...json, answers, events },
          text: [factsOf(Object.entries(json)), ...said, ...story].join('\n'),
        };
      }, anyRing),
    );

  command(exceptions, 'take', 'say that you look into it, or take it over')
    .argument('<exceptionId>')
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, exceptionId: string, options: Explained) => {
        const by = operator(options);
        await db.transaction((trx) => takeAsOperator(trx, by, exceptionId));
        return {
          json: { exceptionId, state: 'investigating', owner: by.actor },
          text: `${exceptionId} is investigated by ${by.actor} now`,
        };
      }),
    );

  command(exceptions, 'resolve', 'say what was found; what it held can be refunded from then on')
    .argument('<exceptionId>')
    .addOption(
      new Option('--resolution <resolution>', 'what was found').choices(RESOLUTIONS).makeOptionMandatory(),
    )
    .addOption(
      parsedOption(
        '--bank-transaction-id <id>',
        'of what the bank took the money back by, where it is reversed; of the transfer of a refund that is confirmed',
        (given) => parseText(given, NAME_MAX),
      ),
    )
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, exceptionId: string, found: Found) => {
        const actor = operator(found);
        const by = { cause: 'operator', note: actor.reason, actor } as const;
        const { resolution, bankTransactionId = null } = found;
        const mayHaveId = resolution === 'reversed' || resolution === 'confirmed';
        if (bankTransactionId === null ? resolution === 'reversed' : !mayHaveId)
          throw new OperatorError(
            '--bank-transaction-id: needed for what is reversed, and else for a refund that is confirmed alone',
          );
        const finding = { resolution, bankTransactionId };
        return {
          json: await db.transaction((trx) => resolveException(trx, by, exceptionId, finding)),
          text: `${exceptionId} is resolved: ${resolution}`,
        };
      }),
    );
}

function shown(exception: ExceptionRecord) {
  const { amount, held, ageS, assignee, announced: _, metadata: __, ...record } = exception;
  return {
    ...record,
    owner: assignee,
    amount: formatAmount(amount, record.currency),
    held: formatAmount(held, record.currency),
    bookedAmount: formatIfAny(record.bookedAmount, record.bookedCurrency),
    ageS: Math.round(ageS),
  };
}

function exceptionsTable(exceptions: ExceptionRecord[]): string {
  const head = ['exception\nreference', 'kind\nstate, owner', 'age', 'amount\nheld', 'bank\nmerchant'];
  const table = exceptions.map((one) => [
    `${one.exceptionId}\n${one.reference ?? ''}`,
    `${one.kind}\n${one.state}${one.assignee === null ? '' : `,\n${one.assignee}`}`,
    inDays(one.ageS),
    `${inMoney(one)}\n${inMoney({ ...one, amount: one.held })}`,
    `${shortName(one.bankName)}\n${shortName(one.merchantName ?? '')}`,
  ]);
  if (table.length === 0) return tableOf(head, table);
  return `${tableOf(head, table)}\nAnswer one by "assent exceptions resolve <exceptionId>"; "show" has its story.`;
}

/** An age in hours or days: exceptions are not resolved by the minute. */
export const inDays = (s: number) =>
  s < 86_400 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`;
