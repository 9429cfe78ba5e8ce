import { availableParallelism } from 'node:os';
import { OwnProcess } from '../launch/process';
import { FAULTS, Model, nameOf, search, walk, type Found } from './model';

/**
 * `npm run model`: seeds each fault, and expects an invariant to find it. Then tries every sequence
 * of few acts, longer ones of acts that have to do with each other, and draws long ones of all.
 */

const SCHEDULE = ['Tick', 'Work', 'Answer true', 'Answer false'];
const BILLS = ['Bill 1', 'Bill 3'];

/** Every sequence of so many acts; of all acts where none are named. Their depths take minutes. */
const PARTS: Record<string, { depth: number; acts?: string[] }> = {
  'all acts': { depth: 3 },
  limits: {
    depth: 6,
    acts: [
      ...BILLS,
      'Change',
      'Change daily 3 total 5',
      'Change countDaily 1 perCharge 2',
      'Approve',
      'Answer true',
      'Answer false',
      'Tick',
    ],
  },
  pause: { depth: 8, acts: [...SCHEDULE, 'Pause 2', 'Pause 99', 'Resume', 'Approve'] },
  span: {
    depth: 7,
    acts: [
      ...SCHEDULE,
      'Bill 1',
      'Change',
      'Change validFrom 1 validUntil 3',
      'Change countTotal 2 daily 2 validUntil 4',
    ],
  },
  decision: { depth: 9, acts: [...SCHEDULE, 'Suspend', 'Deny', 'Change'] },
};

const WALKS = { seeds: 1_000, length: 40 };

interface Job {
  fault: string;
  part: string;
}

interface Told {
  text: string;
  isGood: boolean;
}

/** Done in a process of its own: the evaluator uses one core. */
function work({ fault, part }: Job): Told {
  const model = new Model(fault);
  if (part === 'walks') return draw(model);
  const { acts, depth } = PARTS[part] ?? { depth: 0 };
  const some = acts ? model.acts.filter((act) => acts.includes(nameOf(act))) : model.acts;
  if (acts && acts.length !== some.length)
    throw new Error(`${part} names an act that the model does not have`);
  const { states, found } = search(model, some, depth);
  const text = `${part}: ${states} states by up to ${depth} of ${some.length} acts`;
  return { text: found ? wordsOf(found) : text, isGood: !found };
}

function draw(model: Model): Told {
  for (let seed = 1; seed <= WALKS.seeds; seed++) {
    const acts: Found['acts'] = [];
    for (const { act, state } of walk(model, seed, WALKS.length)) {
      acts.push(act);
      const unsound = model.unsound(state);
      if (unsound.length > 0) return { text: wordsOf({ acts, unsound }), isGood: false };
    }
  }
  return { text: `walks: ${WALKS.seeds} of up to ${WALKS.length} acts`, isGood: true };
}

const wordsOf = ({ acts, unsound }: Found) => `${acts.map(nameOf).join(', ')}: not so: ${unsound.join('; ')}`;

/** The exit code of a search that finds an invariant broken. */
const UNSOUND = 2;

async function inProcess({ fault, part }: Job): Promise<Told> {
  const args = ['--import', 'tsx', __filename, fault, part];
  const searching = new OwnProcess({ command: process.execPath, args, environment: process.env });
  searching.start();
  const code = await searching.ended();
  if (code !== 0 && code !== UNSOUND) throw new Error(searching.output);
  return { text: searching.output.trim(), isGood: code === 0 };
}

const print = (line: string) => process.stdout.write(`${line}\n`);

async function all(): Promise<boolean> {
  const jobs: Job[] = [
    ...Object.entries(FAULTS).map(([fault, part]) => ({ fault, part })),
    ...[...Object.keys(PARTS), 'walks'].map((part) => ({ fault: 'none', part })),
  ];
  const failed: string[] = [];
  const next = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      const { text, isGood } = await inProcess(job);
      const isSeeded = job.fault !== 'none';
      const words = isSeeded ? `fault, ${job.fault}: ${isGood ? 'NOT FOUND' : `found by ${text}`}` : text;
      print(words);
      if (isGood === isSeeded) failed.push(words);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
  print(failed.length === 0 ? 'The model is sound, and finds each fault.' : `FAILED: ${failed.join('\n')}`);
  return failed.length === 0;
}

const [fault, part] = process.argv.slice(2);
if (fault !== undefined && part !== undefined) {
  const { text, isGood } = work({ fault, part });
  print(text);
  process.exitCode = isGood ? 0 : UNSOUND;
} else void all().then((isSound) => (process.exitCode = isSound ? 0 : 1));
