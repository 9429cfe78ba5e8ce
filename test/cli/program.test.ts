import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program';

const ROOT = join(__dirname, '../..');
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];

/** A word of a command line: quoted, a placeholder such as `<id>`, or plain. */
const WORD = /"[^"]*"|'[^']*'|<\w+>|[\w./:=@-]+/;
const CALL = new RegExp(`npx assent((?: +(?:${WORD.source}))+)`, 'g');

/** Values of the guides' variables. */
const OF_THE_SHELL = new Map([
  ['$TODAY', '2026-11-02'],
  ['$LAST_MONTH', '2026-10'],
]);

const named = PAGES.flatMap((page) =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(CALL)].map(([, call = '']) => call.trim()),
);

/** The commands, which do nothing, and throw where they are not called as they must be. */
function idle(command: Command): Command {
  command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  if (command.commands.length === 0) command.action(() => undefined);
  for (const one of command.commands) idle(one);
  return command;
}

describe('the commands that the documents name', () => {
  it.each([...new Set(named)])('%s: takes what it is given there', (call) => {
    const words = [...call.matchAll(new RegExp(WORD, 'g'))]
      .map(([word]) => word.replace(/^["'](.*)["']$/, '$1'))
      .map((word) => OF_THE_SHELL.get(word) ?? word);
    expect(() => idle(createProgram(words[0])).parse(words, { from: 'user' })).not.toThrow();
  });

  it.each([
    ['entity frobnicate ent_1', /unknown command/],
    ['audit --until now', /unknown option/],
    ['entity disable', /missing required argument/],
    ['status everything', /too many arguments/],
  ])('would be found out where they did not: %s', (call, words) => {
    expect(() => idle(createProgram(call.split(' ')[0])).parse(call.split(' '), { from: 'user' })).toThrow(
      words,
    );
  });
});
