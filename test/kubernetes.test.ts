import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2';
import type { Job } from 'kubernetes-types/batch/v1';
import type { Container, PodSpec, Probe, Secret, Service } from 'kubernetes-types/core/v1';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1';
import { parse, parseAllDocuments, type Document } from 'yaml';
import { createProgram } from '../src/cli/program';
import { readConfig, requireServers, SETTING_NAMES } from '../src/settings/config';
import { blocksRunBy } from './support/code-blocks';

/**
 * The manifests of deploy/kubernetes, held to what the processes are: their settings, commands,
 * ports and times. `npm run check:kubernetes` holds them to Kubernetes.
 */

const ROOT = join(__dirname, '..');
const FOLDER = join(ROOT, 'deploy/kubernetes');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Kustomization {
  namespace?: string;
  resources: string[];
  images?: { name: string }[];
  configMapGenerator: { name: string; literals: string[] }[];
}

const base = parse(read('deploy/kubernetes/base/kustomization.yaml')) as Kustomization;
const example = parse(read('deploy/kubernetes/example/kustomization.yaml')) as Kustomization;

/** Those that there are. */
interface Kinds {
  Deployment: Deployment;
  HorizontalPodAutoscaler: HorizontalPodAutoscaler;
  Job: Job;
  NetworkPolicy: NetworkPolicy;
  PodDisruptionBudget: PodDisruptionBudget;
  Secret: Secret;
  Service: Service;
}

const manifests = base.resources.flatMap((file) =>
  (parseAllDocuments(read(`deploy/kubernetes/base/${file}`)) as Document[]).map(
    (one) => one.toJS() as Kinds[keyof Kinds],
  ),
);

function allOf<Kind extends keyof Kinds>(kind: Kind): Kinds[Kind][] {
  return manifests.filter((one): one is Kinds[Kind] => one.kind === kind);
}

function named<Kind extends keyof Kinds>(kind: Kind, name: string): Kinds[Kind] {
  const found = allOf(kind).find(({ metadata }) => metadata?.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

const deployments = allOf('Deployment');
const api = named('Deployment', 'assent-api');
const worker = named('Deployment', 'assent-worker');
const specOf = (one: Deployment | Job): PodSpec => {
  const spec = one.spec?.template.spec;
  if (spec === undefined) throw new Error('it has no pods');
  return spec;
};
const pods = [...deployments, ...allOf('Job')].map(specOf);
const containersOf = (pod: PodSpec): Container[] => [...(pod.initContainers ?? []), ...pod.containers];
const containers = pods.flatMap(containersOf);
const onlyContainer = (one: Deployment | Job): Container => {
  const [first, ...more] = specOf(one).containers;
  if (first === undefined || more.length > 0) throw new Error('it has not one container');
  return first;
};

/** The Secrets that a pod sees. */
const refs = (one: PodSpec) =>
  containersOf(one).flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []),
  );

const ports = (one: Deployment) =>
  Object.fromEntries(
    (onlyContainer(one).ports ?? []).map(({ name, containerPort }) => [name, containerPort]),
  );

/** Settings as a pod gets them, of all kustomizations together. */
const literals = [base, example]
  .flatMap(({ configMapGenerator }) => configMapGenerator)
  .flatMap((map) => map.literals)
  .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const);

describe('the manifests for Kubernetes', () => {
  it('are all there, and all in the kustomization', () => {
    const files = readdirSync(join(FOLDER, 'base')).filter((file) => file !== 'kustomization.yaml');
    expect(base.resources.toSorted()).toEqual(files.toSorted());
    expect(example.resources).toEqual(['../base']);
  });

  it('set nothing that is no setting', () => {
    const set = [
      ...literals.map(([name]) => name),
      ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
    ];
    expect(set.length).toBeGreaterThan(10);
    expect(set.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  it('give every pod what production asks for', () => {
    const secrets = {
      ASSENT_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      DATABASE_URL: 'postgres://assent_login:x@postgres/assent?sslmode=verify-full',
      DATABASE_OWNER_URL: 'postgres://assent_owner:x@postgres/assent?sslmode=verify-full',
    };
    for (const { env = [], envFrom = [] } of containers) {
      expect(envFrom).toEqual([{ configMapRef: { name: 'assent-settings' } }]);
      const handed = env.map(({ name }) => name);
      const given = Object.entries(secrets).filter(([name]) => handed.includes(name));
      const config = readConfig({ ...Object.fromEntries(literals), ...Object.fromEntries(given) });
      expect(requireServers(config)).toMatchObject({ ASSENT_MODE: 'production', METRICS_HOST: '0.0.0.0' });
    }
  });

  it('bring no secret along, and show the owner of the schema to the migrations alone', () => {
    expect(allOf('Secret')).toEqual([]);
    expect(deployments.map((one) => new Set(refs(specOf(one))))).toEqual([
      new Set(['assent']),
      new Set(['assent']),
    ]);
    expect(refs(specOf(named('Job', 'assent-migrate')))).toContain('assent-owner');
  });

  it('take nobody’s word on who calls but that of a few addresses, as many as an ingress has', () => {
    const { TRUSTED_PROXIES = '' } = Object.fromEntries(literals);
    const trusted = readConfig({ TRUSTED_PROXIES }).TRUSTED_PROXIES;
    expect(trusted).not.toEqual([]);
    const wide = trusted.filter((one) => {
      const [address = '', bits] = one.split('/');
      const length = isIPv6(address) ? 128 : 32;
      return length - Number(bits ?? length) > 4;
    });
    expect(wide).toEqual([]);
  });

  it('run the one image by the commands that it is made for', () => {
    const inDockerfile = [...read('Dockerfile').matchAll(/^# {5}(node .+)$/gm)].map(([, line]) => line);
    expect(inDockerfile).toHaveLength(3);
    expect(example.images?.map(({ name }) => name)).toEqual([
      ...new Set(containers.map(({ image }) => image)),
    ]);
    for (const { command = [] } of containers) {
      const line = command.join(' ');
      expect(inDockerfile.some((one) => line === one || line.startsWith(`${one} `))).toBe(true);
      const program = command.find((word) => word.endsWith('.js')) ?? '';
      expect(existsSync(join(ROOT, program.replace(/^dist\//, '').replace(/\.js$/, '.ts')))).toBe(true);
      if (!line.includes('dist/src/cli/main.js')) continue;
      const words = command.slice(command.indexOf(program) + 1);
      const cli = createProgram(words[0]).exitOverride();
      for (const one of cli.commands) one.exitOverride().action(() => undefined);
      expect(() => cli.parse(words, { from: 'user' })).not.toThrow();
    }
  });

  it('are put up and replaced by what docs/kubernetes.md has pasted, which names what there is', () => {
    const [shown] = blocksRunBy('test/kubernetes.test.ts', 'docs/kubernetes.md');
    const lines = (shown?.text ?? '').trim().split('\n');
    expect(lines).toHaveLength(3);
    const names = (words: RegExp) =>
      lines.flatMap((line) => [...line.matchAll(words)].map(([, name = '']) => name));
    expect(names(/^kubectl (?:--namespace \S+ )?(\S+)/g)).toEqual(['delete', 'apply', 'rollout']);
    expect(names(/--namespace (\S+)/g)).toEqual([example.namespace, base.namespace]);
    expect(names(/\bjob (\S+)/g)).toEqual(allOf('Job').map(({ metadata }) => metadata?.name));
    // A rollout that nobody waits for would pass for one that works.
    expect(names(/\bdeployment\/(\S+)/g)).toEqual(deployments.map(({ metadata }) => metadata?.name));
  });

  it('let no process begin before the migrations have run', () => {
    for (const one of deployments) {
      expect(specOf(one).initContainers?.map(({ command }) => command?.slice(1))).toEqual([
        ['dist/src/cli/main.js', 'migrate', '--wait'],
      ]);
    }
  });

  it('name the ports that the processes listen on, and probe and serve by these', () => {
    const { PORT, METRICS_PORT } = readConfig({});
    expect([ports(api), ports(worker)]).toEqual([
      { http: PORT, metrics: METRICS_PORT },
      { metrics: METRICS_PORT },
    ]);
    for (const one of deployments) {
      const { startupProbe, readinessProbe, livenessProbe } = onlyContainer(one);
      const probes: (Probe | undefined)[] = [startupProbe, readinessProbe, livenessProbe];
      expect(probes.map((probe) => Object.keys(ports(one)).includes(String(probe?.httpGet?.port)))).toEqual([
        true,
        true,
        true,
      ]);
      expect(one.spec?.template.metadata?.annotations?.['prometheus.io/port']).toBe(String(METRICS_PORT));
    }
    const [service] = allOf('Service');
    expect(service?.spec?.selector).toEqual(api.spec?.selector.matchLabels);
    expect(service?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('take no API out for what others do: it takes work while Temporal is away', () => {
    const { readinessProbe, livenessProbe } = onlyContainer(api);
    expect([readinessProbe?.httpGet?.path, livenessProbe?.httpGet?.path]).toEqual(['/healthz', '/healthz']);
    expect(onlyContainer(worker).livenessProbe?.httpGet?.path).toBe('/healthz');
  });

  it('kill nothing that still drains', () => {
    const apiMs = [...read('src/api/main.ts').matchAll(/const (?:ARRIVAL|DRAIN)_MS = ([\d_]+);/g)];
    const drainsS = apiMs.reduce((sum, [, ms = '']) => sum + Number(ms.replaceAll('_', '')), 0) / 1_000;
    const workerS = Number(/const SHUTDOWN_FORCE = '(\d+)s';/.exec(read('src/worker/run.ts'))?.[1]);
    const preStopS = Number(onlyContainer(api).lifecycle?.preStop?.exec?.command?.at(-1));
    expect([preStopS, drainsS, workerS]).toEqual([5, 9, 7]);
    // Connections are closed after it, which may take some seconds more.
    expect(specOf(api).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStopS + drainsS + 5);
    expect(specOf(worker).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(workerS + 5);
  });

  it('keep within the connections of a Postgres as it comes, also while all are replaced', () => {
    const [scaler] = allOf('HorizontalPodAutoscaler');
    expect(scaler?.spec?.scaleTargetRef.name).toBe(api.metadata?.name);
    expect(api.spec).not.toHaveProperty('replicas');
    const surge = deployments.map((one) => Number(one.spec?.strategy?.rollingUpdate?.maxSurge));
    const processes =
      (scaler?.spec?.maxReplicas ?? 0) +
      (worker.spec?.replicas ?? 0) +
      surge.reduce((sum, one) => sum + one, 0);
    // Beside them Postgres keeps three for its superuser, and some are for operators.
    expect(processes * readConfig({}).DATABASE_POOL).toBeLessThanOrEqual(90);
  });

  it('select what they are meant for', () => {
    const labels = [...deployments, ...allOf('Job')].map((one) => one.spec?.template.metadata?.labels ?? {});
    const selects = (wanted: Record<string, string> = {}) =>
      labels.filter((has) => Object.entries(wanted).every(([name, value]) => has[name] === value)).length;
    for (const one of deployments) {
      expect(selects(one.spec?.selector.matchLabels)).toBe(1);
      const [spread] = specOf(one).topologySpreadConstraints ?? [];
      expect(spread?.labelSelector).toEqual(one.spec?.selector);
    }
    const budgets = allOf('PodDisruptionBudget');
    expect(budgets.map(({ spec }) => selects(spec?.selector?.matchLabels))).toEqual([1, 1]);
    const policies = allOf('NetworkPolicy').map(({ metadata, spec }) => [
      metadata?.name,
      spec?.podSelector.matchExpressions
        ? labels.filter((has) =>
            spec.podSelector.matchExpressions?.[0]?.values?.includes(has['app.kubernetes.io/name'] ?? ''),
          ).length
        : selects(spec?.podSelector.matchLabels),
    ]);
    expect(Object.fromEntries(policies)).toEqual({
      'assent-nothing': 3,
      'assent-servers': 3,
      'assent-webhooks': 1,
      'assent-calls': 1,
      'assent-metrics': 2,
    });
  });

  it('let no pod do more than it must', () => {
    for (const pod of pods) {
      expect(pod).toMatchObject({
        serviceAccountName: 'assent',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const volumes = pod.volumes?.map(({ name }) => name);
      for (const container of containersOf(pod)) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
        expect(container.volumeMounts?.map(({ name }) => name)).toEqual(volumes);
      }
    }
  });

  it('are refused where a field is misspelt, of another type, or a word is none that Kubernetes knows', async () => {
    const broken = mkdtempSync(join(tmpdir(), 'assent-kubernetes-'));
    cpSync(FOLDER, broken, { recursive: true });
    const text = readFileSync(join(broken, 'base/worker.yaml'), 'utf8');
    const file = join(broken, 'base/worker.yaml');
    writeFileSync(
      file,
      text
        .replace('livenessProbe:', 'livenessProb:')
        .replace('replicas: 3', 'replicas: three')
        .replace('limits: { memory: 1Gi }', 'limits: { memory: 768MB }'),
    );
    const { code, err } = await new Promise<{ code: unknown; err: string }>((resolve) => {
      execFile(
        process.execPath,
        ['--import', 'tsx', join(ROOT, 'scripts/check-kubernetes.ts'), broken],
        { cwd: ROOT },
        (error, _out, stderr) => resolve({ code: error?.code, err: stderr }),
      );
    });
    rmSync(broken, { recursive: true });
    expect(code).toBe(1);
    expect(err.trim().split('\n')).toEqual([
      expect.stringMatching(/worker\.yaml: Deployment: "replicas": "three".*not assignable to type 'number'/),
      expect.stringMatching(/worker\.yaml: Deployment: "livenessProb".*does not exist/),
      'base/worker.yaml: Deployment.spec.template.spec.containers.0.resources.limits.memory: "768MB" is no quantity',
    ]);
  });
});
