import Table from 'cli-table3';
import { iso } from './oracle/both';
import type { Verdict } from './mutants';
import type { Proof } from './years';

const DIFFERENCES_SHOWN = 20;

export function printed(proof: Proof, asked: number): string {
  const { plan, killed, differences, books, folder, yearsMs } = proof;
  const deaths = Object.entries(killed).map(([name, times]) => `${name} ${times}`);
  const table = new Table({ style: { head: [], border: [] }, wordWrap: true, colWidths: [16, 76] });
  table.push(
    ['seed', String(plan.seed)],
    ['years', `${iso(plan.startAt)} to ${iso(plan.endAt)}, ${plan.zone.name}`],
    ['merchants', String(plan.merchants.length)],
    ['billings', `${proof.billings}, in ${proof.charges} charges`],
    ['payments', `${plan.payments.length} between customers`],
    ['killed', deaths.join(', ') || 'nobody'],
    [
      'took',
      `${(yearsMs / 1000).toFixed(1)} s, ${(proof.billings / (yearsMs / 1000)).toFixed(1)} billings a second`,
    ],
  );
  return [table.toString(), ...foundIn(differences), ...books, ...again()].join('\n');

  function again(): string[] {
    if (differences.length + books.length === 0) return [];
    const calm = deaths.length === 0 ? ' --calm' : '';
    return [
      `The log of each process, and the data, are in ${folder}.`,
      `The same years again: npm run prove -- --billings ${asked} --seed ${plan.seed}${calm}`,
    ];
  }
}

export function verdictsPrinted(verdicts: readonly Verdict[]): string {
  const found = verdicts.filter((one) => one.found !== undefined);
  const lines = verdicts.map((one) => `- ${one.name}: ${one.found ?? 'NOT FOUND'}`);
  return [`${found.length} of ${verdicts.length} faults were found:`, ...lines].join('\n');
}

function foundIn(differences: Proof['differences']): string[] {
  if (differences.length === 0) return ['Everything is as the oracle says.'];
  const shown = differences
    .slice(0, DIFFERENCES_SHOWN)
    .map(({ at, who, what }) => `- ${iso(at)} ${who}: ${what}`);
  const more = differences.length - shown.length;
  return [
    `${differences.length} differences, the first of them at the top:`,
    ...shown,
    ...(more > 0 ? [`- and ${more} more`] : []),
  ];
}
