import type { Command } from 'commander';
import { failBatch } from '../database/customer/migrate-customers';
import { OperatorError } from '../domain/failures';
import { command, reporting } from './command';
import { asSchemaLogin } from './engine';
import { operator, reasonOption, type Explained } from './options';

export function fill(batches: Command): void {
  command(batches, 'fail', 'give one up: what was onboarded stays, and its bank sees "failed"')
    .argument('<batchId>')
    .addOption(reasonOption())
    .action(
      reporting(async (config, batchId: string, options: Explained) => {
        const by = operator(options);
        const failed = await asSchemaLogin(config, (db) =>
          db.transaction((trx) => failBatch(trx, by, batchId)),
        );
        if (!failed) throw new OperatorError('there is no such batch that is not done');
        return { json: { batchId, status: 'failed' }, text: `${batchId} has failed` };
      }),
    );
}
