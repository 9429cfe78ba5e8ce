import type { Command } from 'commander';
import { rotateSigningKey } from '../database/signing-key';
import { command, onEngine } from './command';
import { operator, reasonOption, type Explained } from './operator';

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that sign access tokens');

  command(keys, 'rotate', 'sign with a new key from now on; tokens of the old one stay good')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db, ring }, _config, options: Explained) => {
        const kid = await rotateSigningKey(db, ring, operator(options));
        return { json: { kid }, text: `Tokens are signed with ${kid} now` };
      }),
    );
}
