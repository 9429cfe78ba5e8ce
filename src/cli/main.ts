import type * as Explain from './explain';
import { createProgram } from './program';

/**
 * `npx assent`: what an operator does by hand. With `--json` a command prints one object on
 * standard output and nothing else; what goes wrong is told on standard error, with exit code 1.
 */

createProgram(process.argv.slice(2).find((word) => word !== 'help'))
  .parseAsync()
  .catch((error: unknown) => {
    // Loaded where it is needed: the help answers at once.
    const { explained } = require('./explain') as typeof Explain;
    process.stderr.write(`assent: ${explained(error)}\n`);
    process.exitCode = 1;
  });
