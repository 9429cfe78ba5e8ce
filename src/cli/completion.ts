import { Argument, type Command } from 'commander';
import { command, type Outcome } from './command';

/**
 * `assent completion`: what a shell offers while a command of ours is typed. It is made of the
 * commands themselves, so it offers what there is, and nothing else.
 */

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What may follow at one place. */
interface Place {
  /** The words that lead there, each with a space before it: ` entity create`. */
  path: string;
  words: { word: string; description: string }[];
  options: { word: string; description: string }[];
  /** What an option that was just typed may be given. */
  choices: { option: string; words: readonly string[] }[];
  /** Options that are given a file. */
  fileOptions: string[];
  /** Whether an argument here is a file. */
  file: boolean;
}

/** @param whole all commands, whichever of them are loaded */
export function addCompletionCommand(program: Command, whole: () => Command): void {
  command(program, 'completion', 'have a shell complete these commands: eval "$(assent completion bash)"')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell, { json = false }: { json?: boolean }) => {
      const { json: words, text } = completion(whole(), shell);
      process.stdout.write(json ? `${JSON.stringify(words)}\n` : text);
    });
}

const SCRIPTS: Record<Shell, (places: readonly Place[]) => string> = { bash, zsh, fish };

export function completion(program: Command, shell: Shell): Outcome {
  const script = SCRIPTS[shell](placesOf(program, ''));
  return { json: { shell, script }, text: script };
}

const takesFile = (name: string) => /\bfile\b/.test(name);

function placesOf(at: Command, path: string): Place[] {
  const options = at.options.filter(({ long }) => typeof long === 'string');
  const here: Place = {
    path,
    words: [
      ...at.commands.map((one) => ({ word: one.name(), description: one.description() })),
      ...at.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((word) => ({ word, description })),
      ),
    ],
    options: [
      ...options.map(({ long, description }) => ({ word: String(long), description })),
      { word: '--help', description: 'what there is' },
    ],
    choices: options.flatMap(({ long, argChoices }) =>
      argChoices === undefined ? [] : [{ option: String(long), words: argChoices }],
    ),
    fileOptions: options.filter(({ flags }) => takesFile(flags)).map(({ long }) => String(long)),
    file: at.registeredArguments.some((one) => takesFile(one.name())),
  };
  // Those below first: a shell takes the first case that fits.
  return [...at.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`)), here];
}

const list = (of: readonly { word: string }[]) => of.map(({ word }) => word).join(' ');

/** Of words that lead nowhere, such as an id, the path knows nothing: they are arguments. */
const paths = (places: readonly Place[]) =>
  places
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|');

/** @param offer the shell's way to offer words, and files */
function cases(
  places: readonly Place[],
  offer: { words: (words: string) => string; files: string },
): string[] {
  return places.flatMap(({ path, words, options, choices, fileOptions, file }) => [
    ...choices.map((one) => `    '${path} ${one.option}') ${offer.words(one.words.join(' '))} ;;`),
    ...fileOptions.map((option) => `    '${path} ${option}') ${offer.files} ;;`),
    `    '${path} '-*) ${offer.words(list(options))} ;;`,
    `    '${path} '*) ${file ? offer.files : offer.words(list(words))} ;;`,
  ]);
}

function bash(places: readonly Place[]): string {
  return `# eval "$(assent completion bash)"
_assent() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
    ${paths(places)}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  local place="$path $current" offered=''
  [[ $before == --* ]] && case "$path $before" in
    ${valued(places)}) place="$path $before" ;;
  esac
  case "$place" in
${cases(places, { words: (words) => `offered='${words}'`, files: 'compopt -o default 2>/dev/null' }).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -F _assent assent
`;
}

/** Options after which comes a value that is known. */
function valued(places: readonly Place[]): string {
  return places
    .flatMap(({ path, choices, fileOptions }) =>
      [...choices.map(({ option }) => option), ...fileOptions].map((option) => `'${path} ${option}'`),
    )
    .join('|');
}

function zsh(places: readonly Place[]): string {
  return `#compdef assent
# eval "$(assent completion zsh)"
_assent() {
  local current="\${words[CURRENT]}" before="\${words[CURRENT-1]}" at='' i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
    ${paths(places)}) at="$at \${words[i]}" ;;
    esac
  done
  local place="$at $current"
  case "$at $before" in
    ${valued(places)}) place="$at $before" ;;
  esac
  case "$place" in
${cases(places, { words: (words) => `compadd -- ${words}`, files: '_files' }).join('\n')}
  esac
}
compdef _assent assent
`;
}

/** As fish reads it. */
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(places: readonly Place[]): string {
  return `# assent completion fish | source
function __assent_at
    set -l path ''
    for word in (commandline -opc)[2..]
        contains -- "$path $word" ${places
          .filter(({ path }) => path !== '')
          .map(({ path }) => quoted(path))
          .join(' ')}; and set path "$path $word"
    end
    test "$path" = "$argv[1]"
end
complete -c assent -f
${places
  .flatMap(({ path, words, options, choices, fileOptions, file }) => {
    const there = `complete -c assent -n ${quoted(`__assent_at ${quoted(path)}`)}`;
    return [
      ...words.map((one) => `${there} -a ${quoted(one.word)} -d ${quoted(one.description)}`),
      ...options.map(({ word, description }) => {
        const given = choices.find(({ option }) => option === word);
        const takes = given
          ? ` -x -a ${quoted(given.words.join(' '))}`
          : fileOptions.includes(word)
            ? ' -r -F'
            : '';
        return `${there} -l ${word.replace(/^--/, '')} -d ${quoted(description)}${takes}`;
      }),
      ...(file ? [`${there} -F`] : []),
    ];
  })
  .join('\n')}
`;
}
