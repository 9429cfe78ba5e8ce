import { execFileSync } from 'node:child_process';
import type { Command } from 'commander';
import { completion } from '../../src/cli/completion';
import { createProgram } from '../../src/cli/program';

const program = createProgram();

/** What bash offers for the last of these words, which may be empty. */
function offered(...words: string[]): string[] {
  const script = `${completion(program, 'bash').text}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_assent
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-uc', script, 'bash', 'assent', ...words], { encoding: 'utf8' });
  return out.split('\n').filter((word) => word !== '');
}

/** Every command that has none below it, with the words that lead there. */
function leaves(at: Command, words: string[] = []): { words: string[]; command: Command }[] {
  if (at.commands.length === 0) return [{ words, command: at }];
  return at.commands.flatMap((one) => leaves(one, [...words, one.name()]));
}

describe('what bash offers', () => {
  it.each([
    [['ent'], ['entity']],
    [['entity', 'rotate-w'], ['rotate-webhook-secret']],
    [['entity', 'create', '--ty'], ['--type']],
    [
      ['entity', 'create', '--type', ''],
      ['bank', 'merchant', 'provider'],
    ],
    [['exceptions', 'show', 'exc_1', '--j'], ['--json']],
    [['completion', 'z'], ['zsh']],
    [['books', 'verify', '--kept', 'heads'], []],
    [['nothing', 'of', 'this', '--js'], []],
  ])('after %j: %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('is every command and every option that there is', () => {
    expect(offered('')).toEqual(program.commands.map((one) => one.name()));
    const all = leaves(program);
    expect(all.length).toBeGreaterThan(35);
    for (const { words, command } of all) {
      expect(offered(...words, '--')).toEqual([...command.options.map(({ long }) => long), '--help']);
    }
  });
});

it('every command tells a program what it has done, as one JSON object', () => {
  const without = leaves(program).filter(({ command }) =>
    command.options.every(({ long }) => long !== '--json'),
  );
  expect(without.map(({ words }) => words.join(' '))).toEqual([]);
});

it.each(['zsh', 'fish'] as const)('%s is told of the same commands', (shell) => {
  const { text } = completion(program, shell);
  for (const { words } of leaves(program)) expect(text).toContain(words.join(' '));
});
