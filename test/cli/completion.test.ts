import { execFileSync, spawnSync } from 'node:child_process';
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

const isThere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

/** What each shell offers after these words: all of the place, for it chooses by itself. */
const CASES: { words: string[]; offers: string[] }[] = [
  { words: ['entity', 'rotate-'], offers: ['rotate-secret', 'rotate-webhook-secret'] },
  { words: ['entity', 'create', '--type', ''], offers: ['bank', 'merchant', 'provider'] },
  { words: ['exceptions', 'show', 'exc_1', '--j'], offers: ['--json'] },
  { words: ['completion', 'z'], offers: ['zsh'] },
];

/**
 * Its own script. Where there is no zsh, bash reads it: it is written in what the two share, but
 * that arrays begin at 0 in bash.
 */
function offeredByZsh(...words: string[]): string[] {
  const script = `compdef() { :; }
_files() { :; }
compadd() { shift; printf '%s\\n' "$@"; }
${completion(program, 'zsh').text}
words=("$@") CURRENT=${words.length + 1}
_assent`;
  const args = isThere('zsh') ? ['zsh', '-fc'] : ['bash', '-c'];
  const before = args[0] === 'zsh' ? [] : ['first'];
  const [shell = '', ...options] = args;
  const out = execFileSync(shell, [...options, script, shell, ...before, 'assent', ...words], {
    encoding: 'utf8',
  });
  return out.split('\n').filter((word) => word !== '' && word.startsWith(words.at(-1) ?? ''));
}

describe('what zsh offers', () => {
  it.each(CASES)('after $words: $offers', ({ words, offers }) => {
    expect(offeredByZsh(...words)).toEqual(offers);
  });

  it('is every command that there is', () => {
    expect(offeredByZsh('')).toEqual(program.commands.map((one) => one.name()));
  });
});

/** The words of a line, as fish takes them apart. */
const wordsOf = (line: string) =>
  (line.match(/'(?:\\.|[^'\\])*'|[^\s']+/g) ?? []).map((word) =>
    word.startsWith("'") ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word,
  );

describe('what fish offers', () => {
  const script = completion(program, 'fish').text;

  it('is, at each place, the commands and options of that place', () => {
    const places = new Map<string, string[]>();
    for (const line of script.split('\n').filter((one) => one.startsWith('complete -c assent -n'))) {
      const [, , , , condition = '', kind = '', word = ''] = wordsOf(line);
      const [test, path = ''] = wordsOf(condition);
      expect([test, ['-a', '-l', '-F'].includes(kind)]).toEqual(['__assent_at', true]);
      if (kind !== '-F') places.set(path, [...(places.get(path) ?? []), kind === '-l' ? `--${word}` : word]);
    }
    const all = leaves(program);
    for (const { words, command } of all) {
      const options = command.options.map(({ long }) => long);
      const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
      expect(places.get(words.map((word) => ` ${word}`).join(''))).toEqual([
        ...choices,
        ...options,
        '--help',
      ]);
    }
    expect(places.size).toBeGreaterThan(all.length);
    // A fish, where there is one, says the same.
    for (const { words, offers } of isThere('fish') ? CASES : []) {
      const asked = `${script}\ncomplete -C ${JSON.stringify(`assent ${words.join(' ')}`)}`;
      const out = execFileSync('fish', ['--no-config', '-c', asked], { encoding: 'utf8' });
      expect(
        out
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split('\t')[0]),
      ).toEqual(offers);
    }
  });
});
