import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { BANK_FILE_TASK_QUEUE } from '../src/domain/workflow/messages';

/** What the alerts of deploy/prometheus say of each other. */

const { groups } = parse(readFileSync(join(__dirname, '..', 'deploy/prometheus/alerts.yml'), 'utf8')) as {
  groups: {
    rules: {
      alert: string;
      expr: string;
      labels: Record<string, string>;
      annotations: Record<string, string>;
    }[];
  }[];
};
const rules = groups.flatMap((group) => group.rules);

/** Gauges with a number only once the books were compared. */
const ONCE_COMPARED = ['assent_books_differences'];

test('a number that an alert goes by does not vanish untold, where Postgres or Temporal cannot say it', () => {
  const goneBy = rules
    .filter(({ expr }) => /^max\b[^>]*\bassent_\w+/.test(expr))
    .flatMap(({ expr }) => expr.match(/assent_\w+/) ?? []);
  expect(goneBy.length).toBeGreaterThan(5);
  const missed = rules.find(({ alert }) => alert === 'AssentIsNotMeasured')?.expr ?? '';
  const told = [...missed.matchAll(/absent\((\w+)\)/g)].map(([, name]) => name);
  expect(new Set([...told, ...ONCE_COMPARED])).toEqual(new Set(goneBy));
});

const ruleOf = (metric: string) =>
  rules.find(({ expr }) => expr.startsWith('max by') && expr.includes(metric));

test('files of banks that take their turn wake nobody, and one that stands still is a ticket', () => {
  const queues = ruleOf('assent_task_queue_oldest_age_seconds');
  expect(queues?.labels['severity']).toBe('page');
  expect(queues?.expr).toContain(
    `assent_task_queue_oldest_age_seconds{task_queue!="${BANK_FILE_TASK_QUEUE}"}`,
  );
  expect(ruleOf('assent_upload_oldest_age_seconds')?.labels['severity']).toBe('ticket');
});

test('each alert links to a runbook of its own', () => {
  const page = readFileSync(join(__dirname, '..', 'docs/operations.md'), 'utf8');
  const sections = new Set([...page.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading));
  expect(rules.filter(({ alert }) => !sections.has(alert))).toEqual([]);
  expect(rules.map(({ annotations }) => annotations['runbook'])).toEqual(
    rules.map(({ alert }) => `docs/operations.md#${alert.toLowerCase()}`),
  );
});
