import Table from 'cli-table3';
import { FAULTS, type Plan } from './plan';
import { PROMISES, type Finding } from './oracle';

export interface Report {
  seed: number;
  seconds: number;
  faults: Record<string, number>;
  endedByThemselves: Record<string, number>;
  operations: number;
  acknowledged: Record<string, number>;
  refused: Record<string, number>;
  ended: Record<string, number>;
  debits: Record<string, number>;
  exceptions: number;
  answers: Record<string, number>;
  webhooks: Record<string, number>;
  quietAfterMs: number;
  findings: Finding[];
}

export function faultsOf({ faults }: Plan): Record<string, number> {
  return counted(faults.map(({ what }) => FAULTS[what]));
}

export function counted(names: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b)));
}

const FINDINGS_SHOWN = 50;

export function printed(report: Report): string {
  const { findings } = report;
  const table = new Table({ style: { head: [], border: [] }, wordWrap: true, colWidths: [24, 76] });
  table.push(
    ['seed, seconds', `${report.seed}, ${report.seconds}`],
    ['faults', inWords(report.faults)],
    ['ended by themselves', inWords(report.endedByThemselves)],
    ['operations', String(report.operations)],
    ['acknowledged', inWords(report.acknowledged)],
    ['refused', inWords(report.refused)],
    ['ended as', inWords(report.ended)],
    ["in the banks' books", inWords(report.debits)],
    ['exceptions, and answers in them', String(report.exceptions)],
    ['answers to callers', inWords(report.answers)],
    ['webhooks', inWords(report.webhooks)],
    ['quiet after', `${(report.quietAfterMs / 1000).toFixed(1)} s`],
  );
  const promises = new Table({ head: ['promise', 'findings'], style: { head: [], border: [] } });
  for (const [name, what] of Object.entries(PROMISES))
    promises.push([what, String(findings.filter(({ promise }) => promise === name).length)]);
  return [table.toString(), promises.toString(), ...details(report)].join('\n');
}

function details({ findings, seed, seconds }: Report): string[] {
  if (findings.length === 0) return ['Nothing was found.'];
  const shown = findings
    .slice(0, FINDINGS_SHOWN)
    .map(({ promise, id, what }) => `- ${promise}: ${id} ${what}`);
  const more = findings.length - shown.length;
  return [
    `${findings.length} findings:`,
    ...shown,
    ...(more > 0 ? [`- and ${more} more: --json has all of them`] : []),
    'How to look: grep for the id in the log of each process, in the folder that is named below.',
    `The same load and faults again: npm run storm -- --seconds ${seconds} --seed ${seed}`,
  ];
}

function inWords(counts: Record<string, number>): string {
  const words = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  return words.join(', ') || 'none';
}
