import Table from 'cli-table3';
import type { Books } from './audit';
import type { Writes } from './gauges';
import { GOALS, OWN_PROCESSES, TITLE, type Goal, type Sizes, type Work } from './plan';
import type { Run } from './result';
import { percentile, spread, type Sample, type Spread } from './sample';

export type Samples = Partial<Record<Work, Sample[]>>;

export interface Report extends Run {
  temporal: string;
  processes: { apis: number; workers: number };
  sizes: Sizes;
  settings: Record<string, string>;
  /** CPU ms a second, by process, while nothing was asked; taken off all other CPU times. */
  idle: Record<string, number>;
  works: WorkReport[];
  goals: GoalReport[];
  books: Books;
}

interface WorkReport {
  work: Work;
  title: string;
  unitsPerSecond: Spread;
  /** Medians, of a unit, by process. */
  cpuMs: Record<string, number>;
  /** By the processes whose work it is. */
  ownCpuMs: Spread;
  /** A unit's share in its workflow's history, on average. */
  historyEvents?: number;
  /** All rounds together. */
  latenessMs?: { p50: number; p99: number; last: number };
  /** Probes of all rounds together; the other figures are of all that ran meanwhile. */
  probed?: { probes: number; answeredMs: Takes; doneMs: Takes };
  /** Medians, of a unit, by Postgres server. */
  writes: Record<string, Writes>;
}

interface Takes {
  p50: number;
  p95: number;
  worst: number;
}

interface GoalReport extends Goal {
  measured: Spread;
  met: boolean;
  /** The middle half of the rounds lies within a tenth of the median. */
  steady: boolean;
}

export function makeReport(
  run: Omit<Report, 'works' | 'goals'> & {
    samples: Samples;
    historyEvents: Partial<Record<Work, number>>;
  },
): Report {
  const { samples, historyEvents, ...rest } = run;
  const works = (Object.keys(samples) as Work[]).map((work) =>
    reportWork(work, samples[work] ?? [], historyEvents[work]),
  );
  return {
    works,
    goals: GOALS.flatMap((goal) => reportGoal(goal, samples)),
    ...rest,
  };
}

function reportWork(work: Work, samples: Sample[], events: number | undefined): WorkReport {
  const processes = new Set(samples.flatMap(({ cpu }) => Object.keys(cpu)));
  const servers = new Set(samples.flatMap(({ writes }) => Object.keys(writes)));
  const lateness = samples.flatMap(({ latenessMs }) => latenessMs ?? []).toSorted((a, b) => a - b);
  const probed = samples.flatMap((sample) => sample.probed ?? []);
  const takes = (of: 'answeredMs' | 'doneMs'): Takes => {
    const sorted = probed.flatMap((one) => one[of]).toSorted((a, b) => a - b);
    return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), worst: percentile(sorted, 1) };
  };
  return {
    work,
    title: TITLE[work],
    unitsPerSecond: spread(samples.map(perSecond)),
    cpuMs: Object.fromEntries(
      [...processes].map((name) => [
        name,
        spread(samples.map(({ cpu, units }) => (cpu[name] ?? 0) / units)).median,
      ]),
    ),
    ownCpuMs: spread(samples.map((sample) => cpuOf(OWN_PROCESSES[work], sample))),
    ...(events !== undefined && { historyEvents: events }),
    ...(lateness.length > 0 && {
      latenessMs: {
        p50: percentile(lateness, 0.5),
        p99: percentile(lateness, 0.99),
        last: percentile(lateness, 1),
      },
    }),
    ...(probed.length > 0 && {
      probed: {
        probes: probed.reduce((sum, { doneMs }) => sum + doneMs.length, 0),
        answeredMs: takes('answeredMs'),
        doneMs: takes('doneMs'),
      },
    }),
    writes: Object.fromEntries(
      [...servers].map((server) => {
        const median = (of: keyof Writes) =>
          spread(samples.map(({ writes, units }) => (writes[server]?.[of] ?? 0) / units)).median;
        return [
          server,
          { transactions: median('transactions'), walKb: median('walKb'), diskKb: median('diskKb') },
        ];
      }),
    ),
  };
}

/** Takes off what the processes use while nothing is asked of them. */
export function withoutIdle(sample: Sample, idle: Record<string, number>): Sample {
  const cpu = Object.entries(sample.cpu).map(([name, ms]) => [
    name,
    Math.max(0, ms - ((idle[name] ?? 0) * sample.countedMs) / 1000),
  ]);
  return { ...sample, cpu: Object.fromEntries(cpu) as Sample['cpu'] };
}

/** Round by round, for what else the machine did then was beside both. */
function reportGoal(goal: Goal, samples: Samples): GoalReport[] {
  const { work, beside, of, wanted } = goal;
  const ratios = (samples[work] ?? []).flatMap((sample, round) => {
    const measured = MEASURED[of](work, sample);
    if (beside === undefined) return [measured];
    const floor = samples[beside]?.[round];
    return floor ? [measured / MEASURED[of](beside, floor)] : [];
  });
  if (ratios.length === 0) return [];
  const measured = spread(ratios);
  const met = of === 'speed' ? measured.median >= wanted : measured.median <= wanted;
  return [{ ...goal, measured, met, steady: measured.middleHalf <= STEADY * measured.median }];
}

const STEADY = 0.1;

/** Whether more rounds of these kinds of work would say no more. */
export const areSteady = (works: readonly Work[], samples: Samples): boolean =>
  GOALS.filter(({ work }) => works.includes(work))
    .flatMap((goal) => reportGoal(goal, samples))
    .every(({ steady }) => steady);

const MEASURED: Record<Goal['of'], (work: Work, sample: Sample) => number> = {
  speed: (_, sample) => perSecond(sample),
  cpu: (work, sample) => cpuOf(OWN_PROCESSES[work], sample),
  end: (_, { probed }) => percentile(probed?.doneMs ?? [], 0.95),
  log: (_, { writes, units }) => (writes['Postgres']?.walKb ?? 0) / units,
};

const perSecond = ({ units, ms }: Sample) => (units / ms) * 1000;

function cpuOf(processes: readonly string[], { cpu, units }: Sample): number {
  return processes.reduce((sum, name) => sum + (cpu[name] ?? 0), 0) / units;
}

export function printed(report: Report): string {
  const { machine, temporal, processes, settings, books, works, idle, at, commit } = report;
  const charged = works.filter((one) => one.probed === undefined);
  const probed = works.filter((one) => one.probed !== undefined);
  return [
    '',
    `${at}, commit ${commit}, Node ${machine.node}`,
    `${machine.cores} cores (${machine.model}), load ${machine.loadBefore.toFixed(1)} before the start`,
    `Temporal: ${temporal}. Postgres: fsync on. APIs: ${processes.apis}, workers: ${processes.workers}.`,
    'Medians of the rounds, in brackets the lowest and the highest.',
    `Idle, taken off: ${Object.entries(idle)
      .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
      .join(', ')} CPU ms a second.`,
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · '),
    '',
    ...(charged.length > 0 ? [worksTable(charged), '', cpuTable(charged), '', writesTable(charged), ''] : []),
    ...(probed.length > 0 ? [probesTable(probed), ''] : []),
    goalsTable(report.goals),
    '',
    `Books: ${books.accepted} charges accepted, ${books.closed} closed, ${books.debited} in the bank's ledger, ` +
      `${books.told} told to the merchant; ${books.repeats} webhooks came twice.`,
    ...(books.problems.length === 0
      ? ['Nothing is lost, nothing double.']
      : [`${books.problems.length} PROBLEMS:`, ...books.problems.slice(0, 20)]),
  ].join('\n');
}

function table(head: string[], rows: (string | number)[][]): string {
  // For a file as well as for a terminal.
  const drawn = new Table({ style: { head: [], border: [], compact: true }, head });
  drawn.push(...rows);
  return drawn.toString();
}

function worksTable(works: WorkReport[]): string {
  return table(
    ['Work', 'a second', 'CPU ms each', 'history events', 'late p50, p99, last'],
    works.map(({ title, unitsPerSecond, ownCpuMs, historyEvents, latenessMs: late }) => [
      title,
      inRange(unitsPerSecond, 1),
      inRange(ownCpuMs, 1),
      historyEvents?.toFixed(1) ?? '',
      late ? [late.p50, late.p99, late.last].map((ms) => `${(ms / 1000).toFixed(1)} s`).join(', ') : '',
    ]),
  );
}

function cpuTable(works: WorkReport[]): string {
  const names = [...new Set(works.flatMap(({ cpuMs }) => Object.keys(cpuMs)))];
  const rows = works.map(({ work, cpuMs }) => [work, ...names.map((name) => (cpuMs[name] ?? 0).toFixed(2))]);
  return table(['CPU ms each', ...names], rows);
}

function writesTable(works: WorkReport[]): string {
  const rows = works.flatMap(({ work, writes }) =>
    Object.entries(writes).map(([server, { transactions, walKb, diskKb }]) => [
      work,
      server,
      ...[transactions, walKb, diskKb].map((value) => value.toFixed(1)),
    ]),
  );
  return table(['Writes each', 'server', 'transactions', 'log kB', 'disk kB'], rows);
}

const inShort = ({ p50, p95, worst }: Takes) => [p50, p95, worst].map((ms) => ms.toFixed(0)).join(', ');

function probesTable(works: WorkReport[]): string {
  const rows = works.flatMap(({ title, probed }) =>
    probed ? [[title, probed.probes, inShort(probed.answeredMs), inShort(probed.doneMs)]] : [],
  );
  const head = ['Takes, in ms: p50, p95, worst', 'charges', 'until answered', 'until the merchant is told'];
  return table(head, rows);
}

const GOAL_NAME = {
  speed: 'a second',
  cpu: 'CPU',
  end: 'p95 to the end',
  log: 'write-ahead log, kB',
};

function goalsTable(goals: GoalReport[]): string {
  const rows = goals.map(({ work, beside, of, wanted, measured, met, steady }) => {
    const times = beside === undefined ? '' : '×';
    return [
      `${work}: ${GOAL_NAME[of]}`,
      beside ?? '',
      `${of === 'speed' ? '≥' : '≤'} ${wanted}${times}`,
      `${inRange(measured, 2)}${times}`,
      [met ? 'met' : 'MISSED', ...(steady ? [] : ['unsteady'])].join(', '),
    ];
  });
  return table(['Goal', 'beside', 'wanted', 'measured', ''], rows);
}

function inRange({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)}–${max.toFixed(digits)}]`;
}
