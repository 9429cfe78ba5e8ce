import type { Command } from 'commander';
import { failBatch } from '../database/customer/fail-batch';
import { command, CommandError, onEngine } from './command';
import { anyRing } from './engine';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';

export function addBatchCommands(program: Command): void {
  const batches = program.command('batches').description('large batches of customers');

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
