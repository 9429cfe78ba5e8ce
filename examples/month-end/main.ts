import { play } from '../demo/play';
import { comparePage } from './compare-page';
import { tellMonth } from './story';
import { Terminal } from './terminal';

/**
 * `npm run month-end`: plays a month of a bank's files and its end. `-- --compare PAGE` also holds
 * the page to what was printed.
 */
play(async (stage) => {
  const terminal = new Terminal(stage.operator);
  await tellMonth(stage, terminal);
  const [option, page] = process.argv.slice(2);
  if (option === '--compare' && page !== undefined) comparePage(page, terminal.printed);
});
