/** How much of each kind of work one round holds, and how many rounds there are. */
export interface Sizes {
  rounds: number;
  /** Single charges, and workflows of each of the two shapes beside them. */
  charges: number;
  /** Calls of {@link CALL_SIZE} charges each. */
  calls: number;
  reads: number;
  /** Schedules due at one moment, and sleepers beside them. */
  schedules: number;
  /** The small merchant's charges while nothing else runs. */
  probes: number;
  /** The large merchant's charges, in calls as large as may be, all at once. */
  crowd: number;
}

export const CALL_SIZE = 10;
/** The most that one call takes. */
export const LARGEST_CALL = 100;

/** Work in flight: enough to keep two cores busy, and as the floors were first measured with. */
export const AT_ONCE = { charges: 40, calls: 10, reads: 16, starts: 40 };

export const FULL: Sizes = {
  rounds: 5,
  charges: 400,
  calls: 80,
  reads: 8_000,
  schedules: 2_000,
  probes: 100,
  crowd: 200,
};
/** Three minutes on a free machine. */
export const QUICK: Sizes = {
  rounds: 3,
  charges: 60,
  calls: 10,
  reads: 1_000,
  schedules: 40,
  probes: 15,
  crowd: 200,
};

/** Work that is measured in turn within a round, because it is compared. */
export const GROUPS = {
  charges: ['textbook', 'local', 'single', 'tens'],
  reads: ['expressRead', 'read'],
  due: ['sleeper', 'due'],
  starvation: ['quiet', 'whileDue', 'whileCrowd'],
} as const;

export type Group = keyof typeof GROUPS;
export type Work = (typeof GROUPS)[Group][number];

export const TITLE: Record<Work, string> = {
  textbook: 'no-op workflow, 3 activities and a signal ("textbook")',
  local: 'the same with local activities ("local")',
  single: 'single charge, end to end',
  tens: `charge in a call of ${CALL_SIZE}`,
  expressRead: 'Express, the same token check, zod',
  read: 'authenticated read by id',
  sleeper: 'sleeping no-op workflow with one local activity',
  due: 'schedule due at one moment, all effects',
  quiet: 'a small merchant’s charge, alone',
  whileDue: 'the same while a large merchant’s schedules fall due at once',
  whileCrowd: 'the same while a large merchant’s charges come at once',
};

export interface Goal {
  work: Work;
  beside: Work;
  /**
   * `speed`: units a second, at least. At most: `cpu`, CPU time a unit; `answer` and `end`, how
   * long nineteen of twenty take until they are answered, and until they are done.
   */
  of: 'speed' | 'cpu' | 'answer' | 'end';
  ratio: number;
}

export const GOALS: Goal[] = [
  { work: 'single', beside: 'textbook', of: 'speed', ratio: 2.3 },
  { work: 'single', beside: 'local', of: 'speed', ratio: 1.25 },
  { work: 'single', beside: 'local', of: 'cpu', ratio: 1.1 },
  { work: 'tens', beside: 'textbook', of: 'speed', ratio: 11 },
  { work: 'due', beside: 'sleeper', of: 'cpu', ratio: 2.2 },
  { work: 'read', beside: 'expressRead', of: 'speed', ratio: 0.6 },
  { work: 'whileDue', beside: 'quiet', of: 'answer', ratio: 3 },
  { work: 'whileDue', beside: 'quiet', of: 'end', ratio: 3 },
  { work: 'whileCrowd', beside: 'quiet', of: 'end', ratio: 4 },
];

/** A Postgres of Temporal's own there is only where it is no dev server. */
const TEMPORAL = ['Temporal', 'Temporal Postgres'];
const ENGINE = ['API', 'worker', 'Postgres', ...TEMPORAL];

/**
 * The processes whose CPU time is a kind of work's own. `load` is this process: beside a no-op
 * workflow it is the client that starts and signals, which in the engine is the API's part; beside
 * a charge it only plays the merchant.
 */
export const OWN_PROCESSES: Record<Work, readonly string[]> = {
  textbook: [...TEMPORAL, 'floor worker', 'load'],
  local: [...TEMPORAL, 'floor worker', 'load'],
  sleeper: [...TEMPORAL, 'floor worker'],
  single: ENGINE,
  tens: ENGINE,
  due: ENGINE,
  expressRead: ['floor HTTP'],
  read: ['API', 'Postgres'],
  quiet: ENGINE,
  whileDue: ENGINE,
  whileCrowd: ENGINE,
};
