import type { Command } from 'commander';

/** `assent start`: what `npm start` is in a checkout. */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description('run an engine here, with a Postgres and a Temporal server of its own')
    .action(() => {
      require('../start/main');
    });
}
