import { explained } from './command';
import { createProgram } from './program';

/**
 * `npx assent`: what an operator does by hand. With `--json` a command prints one object on
 * standard output and nothing else; what goes wrong is told on standard error, with exit code 1.
 */

createProgram(process.argv[2])
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`assent: ${explained(error)}\n`);
    process.exitCode = 1;
  });
