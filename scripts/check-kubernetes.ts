import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';

/**
 * Holds the manifests of deploy/kubernetes to Kubernetes' own description of what it takes, as
 * `kubernetes-types` has it: each becomes an object literal of its type, and the compiler refuses
 * what is unknown, missing or of another type. No cluster is needed for it, and no schema from
 * elsewhere.
 *
 *     npx tsx scripts/check-kubernetes.ts [folder]
 */

const root = join(__dirname, '..');
const folder = process.argv[2] ?? join(root, 'deploy/kubernetes');
/** Below node_modules, where the types are found. */
const work = join(root, 'node_modules/.cache/check-kubernetes');

/** Fields that are mere strings by their types, and the few words that they take. */
const WORDS = new Map([
  ['imagePullPolicy', ['Always', 'IfNotPresent', 'Never']],
  ['operator', ['DoesNotExist', 'Exists', 'In', 'NotIn']],
  ['protocol', ['SCTP', 'TCP', 'UDP']],
  ['restartPolicy', ['Always', 'Never', 'OnFailure']],
  ['unhealthyPodEvictionPolicy', ['AlwaysAllow', 'IfHealthyBudget']],
  ['whenUnsatisfiable', ['DoNotSchedule', 'ScheduleAnyway']],
]);
const QUANTITY = /^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/;
const QUANTITIES = /\.(limits|requests)\.\w+$|\.averageValue$/;

interface Manifest {
  apiVersion?: unknown;
  kind?: unknown;
}

interface Read {
  file: string;
  manifest: Manifest;
}

function manifestsIn(file: string): { read: Read[]; problems: string[] } {
  const documents = parseAllDocuments(readFileSync(join(folder, file), 'utf8'));
  const all = Array.isArray(documents) ? documents : [];
  return {
    read: all.map((one) => ({ file, manifest: one.toJS() as Manifest })),
    problems: all.flatMap(({ errors }) => errors.map(({ message }) => `${file}: ${message}`)),
  };
}

/** `apps/v1`, `core/v1`, `networking/v1`: where the types of a group are. */
function moduleOf(apiVersion: string): string {
  const [version = '', group = 'core'] = apiVersion.split('/').toReversed();
  return `kubernetes-types/${group.replace('.k8s.io', '')}/${version}`;
}

function literalOf({ file, manifest: { apiVersion, kind, ...rest } }: Read): string {
  if (typeof apiVersion !== 'string' || !/^[\w./]+$/.test(apiVersion)) {
    throw new Error(`${file}: a manifest has no apiVersion`);
  }
  if (typeof kind !== 'string' || !/^\w+$/.test(kind)) throw new Error(`${file}: a manifest has no kind`);
  return [
    `// ${file}`,
    `import type { ${kind} as Kind } from '${moduleOf(apiVersion)}';`,
    `const manifest: Kind = ${JSON.stringify({ apiVersion, kind, ...rest }, undefined, 2)};`,
    'export default manifest;',
    '',
  ].join('\n');
}

function wordProblems(file: string, value: unknown, path: string): string[] {
  if (value === null || typeof value !== 'object') {
    const name = path.slice(path.lastIndexOf('.') + 1);
    const words = WORDS.get(name);
    if (words !== undefined && !words.includes(String(value)))
      return [`${file}: ${path}: "${String(value)}" is none of ${words.join(', ')}`];
    if (QUANTITIES.test(path) && !QUANTITY.test(String(value)))
      return [`${file}: ${path}: "${String(value)}" is no quantity`];
    return [];
  }
  return Object.entries(value).flatMap(([name, inner]) => wordProblems(file, inner, `${path}.${name}`));
}

function compilerProblems(read: readonly Read[]): string[] {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  read.forEach((one, i) => writeFileSync(join(work, `${i}.ts`), literalOf(one)));
  const compilerOptions = {
    module: 'node20',
    target: 'es2023',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
  };
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const ran = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--pretty', 'false', '-p', work],
    { cwd: work, encoding: 'utf8' },
  );
  if (ran.status === 0) return [];
  const found = ran.stdout.split('\n').filter((line) => line.trim() !== '');
  return [
    ...found.map((line) =>
      line.replace(/^(\d+)\.ts\((\d+),\d+\): error \w+/, (_, i: string, at: string) => {
        const { file = '', manifest = {} } = read[Number(i)] ?? {};
        const source = readFileSync(join(work, `${i}.ts`), 'utf8').split('\n')[Number(at) - 1];
        return `${file}: ${String(manifest.kind)}: ${source?.trim()}`;
      }),
    ),
    ...(found.length === 0 ? [ran.error?.message ?? ran.stderr] : []),
  ];
}

function main(): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml') && !file.endsWith('kustomization.yaml'))
    .sort();
  const found = files.map(manifestsIn);
  const read = found.flatMap((one) => one.read);
  const broken = found.flatMap((one) => one.problems);
  const problems =
    broken.length > 0
      ? broken
      : [
          ...compilerProblems(read),
          ...read.flatMap(({ file, manifest }) => wordProblems(file, manifest, String(manifest.kind))),
        ];
  if (problems.length > 0) {
    process.stderr.write(`${problems.join('\n')}\n`);
    process.exitCode = 1;
    return;
  }
  process.stdout.write(`${relative(root, folder)}: ${read.length} manifests, accepted\n`);
}

main();
