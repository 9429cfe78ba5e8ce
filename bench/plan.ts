/** How much of each kind of work one round holds, and how many rounds there are. */
export interface Sizes {
  rounds: number;
  /** Rounds are added up to these, until the ratios of the goals are steady. */
  roundsMax: number;
  /** Measured while nothing is asked of the engine or the floors. */
  idleS: number;
  /** Single charges, and those of each of the two floors beside them. */
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
  roundsMax: 10,
  idleS: 60,
  charges: 400,
  calls: 80,
  reads: 8_000,
  schedules: 2_000,
  probes: 100,
  crowd: 200,
};
/** Five minutes on a free machine. */
export const QUICK: Sizes = {
  rounds: 3,
  roundsMax: 5,
  idleS: 10,
  charges: 60,
  calls: 10,
  reads: 1_000,
  schedules: 40,
  probes: 15,
  crowd: 200,
};

/**
 * Units of each kind of work before the first that counts, of the engine as of the floors. V8
 * compiles code by how often it ran, and the engine has more of it than a floor.
 */
const WARM_UNITS = { full: 500, quick: 50 };

const warmUp = (units: number): Sizes => ({
  rounds: 1,
  roundsMax: 1,
  idleS: 0,
  charges: units,
  calls: units / CALL_SIZE,
  // A read is a hundredth of a charge's work.
  reads: 10 * units,
  schedules: units,
  // The same engine is on both sides, warmed by charges.
  probes: 5,
  crowd: LARGEST_CALL,
});

export const WARM_UP = { full: warmUp(WARM_UNITS.full), quick: warmUp(WARM_UNITS.quick) };

/** Work that is measured in turn within a round, because it is compared. */
export const GROUPS = {
  charges: ['local', 'sameShape', 'single', 'tens'],
  reads: ['expressRead', 'read'],
  due: ['sleeper', 'due'],
  starvation: ['quiet', 'whileDue', 'whileCrowd'],
} as const;

export type Group = keyof typeof GROUPS;
export type Work = (typeof GROUPS)[Group][number];

export const TITLE: Record<Work, string> = {
  local: 'no-op workflow of 3 local activities and a signal ("local")',
  sameShape: 'what no charge can do without ("same shape")',
  single: 'single charge, end to end',
  tens: `charge in a call of ${CALL_SIZE}`,
  expressRead: 'Express, the same token check, zod',
  read: 'authenticated read by id',
  sleeper: 'sleeping no-op workflow with one local activity',
  due: 'schedule due in mid-life, all effects',
  quiet: 'a small merchant’s charge, alone',
  whileDue: 'the same while a large merchant’s schedules fall due at once',
  whileCrowd: 'the same while a large merchant’s charges come at once',
};

export interface Goal {
  work: Work;
  /** Left out, the goal is a figure and not a ratio. */
  beside?: Work;
  /**
   * `speed`: units a second, at least. At most: `cpu`, CPU time a unit; `end`, how long nineteen of
   * twenty take until the merchant is told; `log`, kB of the engine's write-ahead log a unit.
   */
  of: 'speed' | 'cpu' | 'end' | 'log';
  wanted: number;
}

/**
 * Beside the floors that do what the work cannot do without. `local` is a figure alone: it writes
 * more to Temporal's Postgres than a charge does.
 */
export const GOALS: Goal[] = [
  { work: 'single', beside: 'sameShape', of: 'cpu', wanted: 1.5 },
  { work: 'tens', beside: 'sameShape', of: 'cpu', wanted: 0.35 },
  { work: 'single', beside: 'sameShape', of: 'speed', wanted: 0.7 },
  { work: 'single', of: 'log', wanted: 15 },
  { work: 'due', beside: 'sleeper', of: 'cpu', wanted: 2 },
  { work: 'read', beside: 'expressRead', of: 'speed', wanted: 0.5 },
  { work: 'whileDue', beside: 'quiet', of: 'end', wanted: 2 },
  { work: 'whileCrowd', beside: 'quiet', of: 'end', wanted: 2 },
];

/** A Postgres of Temporal's own there is only where it is no dev server. */
const TEMPORAL = ['Temporal', 'Temporal Postgres'];
export const ENGINE = ['API', 'worker', 'Postgres', ...TEMPORAL];

/**
 * The processes whose CPU time is a kind of work's own. `load` is this process: beside a no-op
 * workflow it is the client that starts and signals, which in the engine is the API's part; beside
 * a charge it only plays the merchant.
 */
export const OWN_PROCESSES: Record<Work, readonly string[]> = {
  sameShape: ['floor charge', 'Postgres', ...TEMPORAL],
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
