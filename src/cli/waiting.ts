import type { Command } from 'commander';
import { writingTransactions } from '../database/operation/open-transactions';
import { failBatch, openBatches, stuckMessages } from '../database/operation/waiting';
import { forgottenUntil } from '../database/webhook/event-feed';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { tableOf, type Cell } from './table';

/** What stands still: messages to Temporal, the events feed, batches of customers. */

export function addOutboxCommand(program: Command): void {
  command(program, 'outbox', 'messages that have waited for Temporal for a minute, the oldest first').action(
    onEngine(
      async ({ db }) => listed('messages', await stuckMessages(db), 'Nothing waits for Temporal.'),
      anyRing,
    ),
  );
}

export function addFeedCommand(program: Command): void {
  command(
    program,
    'feed',
    'open transactions that write, which the events feed waits for, and how far back it goes',
  ).action(
    onEngine(async ({ db }) => {
      const transactions = await writingTransactions(db);
      const forgotten = await forgottenUntil(db);
      const { json, text } = listed('transactions', transactions, 'The events feed waits for nobody.');
      return {
        json: { ...json, forgottenUntil: forgotten },
        text: forgotten ? `${text}\nWebhooks up to ${forgotten.toISOString()} are forgotten.` : text,
      };
    }, anyRing),
  );
}

export function addBatchCommands(program: Command): void {
  const batches = program.command('batches').description('large batches of customers');

  command(batches, 'list', 'those that are not done, the oldest first').action(
    onEngine(async ({ db }) => listed('batches', await openBatches(db), 'All batches are done.'), anyRing),
  );

  command(batches, 'fail', 'give one up: what was onboarded stays, and its bank sees "failed"')
    .argument('<batchId>')
    .addOption(reasonOption())
    .action(
      onEngine(async (_engine, config, batchId: string, options: Explained) => {
        const by = operator(options);
        const failed = await asOwner(config, (db) => db.transaction((trx) => failBatch(trx, by, batchId)));
        if (!failed) throw new CommandError('there is no such batch that is not done');
        return { json: { batchId, status: 'failed' }, text: `${batchId} has failed` };
      }, anyRing),
    );
}

function listed(name: string, found: object[], none: string): Outcome {
  const [first] = found;
  if (!first) return { json: { [name]: found }, text: none };
  const table = found.map((one) => Object.values(one as Record<string, Cell>));
  return { json: { [name]: found }, text: tableOf(Object.keys(first), table) };
}
