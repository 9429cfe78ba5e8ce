import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, posix, relative } from 'node:path';

/*
 * Who may import whom, and the few rules of style that a machine can keep. The arrows are no matter
 * of taste: a workflow that reached a database would break its replay, and a rule of money that
 * reached a clock could not be tested as a table. Imports are read with regular expressions: the
 * forms are few, and prettier writes each in one way.
 */

const ROOT = join(__dirname, '..');

interface Source {
  /** From the root of the project, with forward slashes: `src/domain/money.ts`. */
  path: string;
  text: string;
}

interface Import {
  /**
   * A file without its extension (`src/domain/money`), a package (`zod`), or what could not be
   * read.
   */
  target: string;
  typeOnly: boolean;
}

const STATIC = /^(import|export)\s+(type\s+)?(?:[\w*{][^'"`;]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC = /\b(?:import|require)\s*\(\s*([^)]*)/g;
const LITERAL = /^'([^']+)'\s*,?\s*$/;

function importsOf({ path, text }: Source): Import[] {
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
  return [
    ...[...code.matchAll(STATIC)].map(([, , type, from]) => ({
      from: from ?? '',
      typeOnly: type !== undefined,
    })),
    ...[...code.matchAll(DYNAMIC)].map(([, argument = '']) => ({
      from: LITERAL.exec(argument)?.[1] ?? `a computed import (${argument.trim()})`,
      typeOnly: false,
    })),
  ].map(({ from, typeOnly }) => ({
    target: from.startsWith('.') ? posix.join(posix.dirname(path), from) : from,
    typeOnly,
  }));
}

/**
 * What each layer, or file beside the layers, may import of `src`, beside itself: layers, or
 * modules of one.
 */
const ARROWS: Record<string, readonly string[]> = {
  domain: [],
  settings: ['domain'],
  database: ['domain'],
  // Log, metrics, tracing and version of each process.
  process: ['domain', 'settings', 'database'],
  temporal: ['database', 'domain', 'process/log', 'process/poll'],
  workflows: ['domain', 'temporal/search-attribute-keys'],
  activities: ['domain', 'database', 'temporal', 'process/log', 'process/deadline'],
  // Statements, lists and bank files: written, and read.
  files: ['domain', 'database'],
  api: [
    'domain',
    'database',
    'files',
    'temporal',
    'settings',
    'process/log',
    'process/at-hand',
    'process/deadline',
  ],
  // It plays the API to a bank, and the worker's webhooks.
  conformance: ['domain', 'database', 'api', 'activities'],
  // Callers: they know of the network what any caller knows, and use its client.
  sandbox: ['console/sandbox/state', 'domain', 'settings', 'process/log'],
  // For browsers: it knows of the engine what the API tells.
  console: [],
};

/**
 * Types carry no code along: a workflow may name the activities it calls, and their doer the
 * settings it takes.
 */
const TYPE_ARROWS: Record<string, readonly string[]> = {
  workflows: ['activities'],
  api: ['process'],
  temporal: ['settings'],
  activities: ['settings'],
};

/** Folders of entry points, which put the layers together; so does each `main.ts`. */
const COMPOSING = ['worker', 'start', 'cli'];

/** Packages that a layer may use; one without a line here may use any. */
const MAY_USE: Record<string, RegExp> = {
  domain: /^(big\.js|temporal-polyfill|node:crypto)$/,
  workflows: /^(@temporalio\/(workflow|common)|temporal-polyfill)$/,
  // Input is checked at the doors: the API, the command line and the settings.
  database: /^(?!zod$|express$|undici$|@temporalio\/)/,
  temporal: /^(?!zod$|express$|undici$)/,
  activities: /^(?!zod$|express$)/,
  files: /^(?!zod$|express$|undici$|@temporalio\/)/,
  sandbox: /^(express|zod|pino|node:.*)$/,
  console: /^(preact(\/hooks)?|uplot(\/\S+\.css)?)$/,
};

function layerOf(path: string): string {
  return (
    path
      .replace(/^src\//, '')
      .split('/')[0]
      ?.replace(/\.tsx?$/, '') ?? ''
  );
}

function composes(path: string): boolean {
  return COMPOSING.includes(layerOf(path)) || basename(path) === 'main.ts';
}

function arrowProblems(source: Source): string[] {
  return importsOf(source)
    .filter((one) => !isAllowed(source.path, one))
    .map(({ target, typeOnly }) => `${source.path} → ${typeOnly ? 'type of ' : ''}${target}`);
}

function isAllowed(path: string, { target, typeOnly }: Import): boolean {
  const layer = layerOf(path);
  // Migrations are found by listing their folder.
  if (target.startsWith('a computed import')) return path === 'src/database/migrate.ts';
  if (!target.startsWith('src/')) {
    // The client is for those who call: the engine tested with it must not be made of it.
    if (layer === 'console' && typeOnly && target === 'packages/client/src/api.generated') return true;
    if (layer === 'sandbox' && target === 'packages/client/src') return true;
    if (target.startsWith('.') || /^(test|demo|migrations|packages|@assent)\//.test(target)) return false;
    return MAY_USE[layer]?.test(target) ?? true;
  }
  const to = target.slice('src/'.length);
  if (layerOf(target) === layer || composes(path)) return true;
  const arrows = [...(ARROWS[layer] ?? []), ...(typeOnly ? (TYPE_ARROWS[layer] ?? []) : [])];
  return arrows.some((arrow) => to === arrow || to.startsWith(`${arrow}/`));
}

/** What makes a function's answer depend on more than its arguments. */
const IMPURE =
  /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandom(Bytes|UUID|Int)\(|\bperformance\b|\bprocess\.|\bconsole\./;

function purityProblems({ path, text }: Source): string[] {
  return text
    .split('\n')
    .filter((line) => IMPURE.test(line) && !/^\s*(\/\/|\/?\*)/.test(line))
    .map((line) => `${path}: ${line.trim()}`);
}

function filesUnder(folder: string, named = /\.tsx?$/): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && named.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({
      path: relative(ROOT, file).replaceAll('\\', '/'),
      text: readFileSync(file, 'utf8'),
    }));
}

const src = filesUnder('src');

describe('the layers', () => {
  it('import each other along the arrows only', () => {
    expect(src.flatMap(arrowProblems)).toEqual([]);
  });

  it('keep the worker and the command line apart from the API', () => {
    const ofApi = src
      .filter(({ path }) => ['worker', 'cli'].includes(layerOf(path)))
      .flatMap((source) =>
        importsOf(source)
          .filter(({ target }) => target.startsWith('src/api/'))
          .map(({ target }) => `${source.path} → ${target}`),
      );
    expect(ofApi).toEqual([]);
  });

  it('are all known, so that a new folder cannot go around them', () => {
    const unknown = src.filter(({ path }) => !ARROWS[layerOf(path)] && !COMPOSING.includes(layerOf(path)));
    expect(unknown.map(({ path }) => path)).toEqual([]);
  });

  it('have a domain that is the same today and tomorrow: no clock, no dice, no environment', () => {
    expect(src.filter(({ path }) => layerOf(path) === 'domain').flatMap(purityProblems)).toEqual([]);
  });

  it('get their settings from the entry points, which alone have the environment read', () => {
    const readers = src
      .filter(({ text }) => /process\.env|\breadConfig\(/.test(text))
      .map(({ path }) => path);
    expect(readers.filter((path) => path !== 'src/settings/config.ts' && !composes(path))).toEqual([]);
  });

  it('load OpenTelemetry where tracing is on, and nowhere else', () => {
    const importersOf = (wanted: (target: string) => boolean) =>
      src
        .filter((source) => importsOf(source).some(({ target, typeOnly }) => !typeOnly && wanted(target)))
        .map(({ path }) => path);
    expect(importersOf((target) => target.startsWith('@opentelemetry/'))).toEqual([
      'src/process/opentelemetry.ts',
    ]);
    const [opening, ...others] = importersOf((target) => target === 'src/process/opentelemetry');
    expect([opening, others]).toEqual(['src/process/tracing.ts', []]);
    const { text = '' } = src.find(({ path }) => path === opening) ?? {};
    // Not with its own loading, but when it is asked to.
    expect([...text.matchAll(STATIC)].filter(([, , type]) => type === undefined)).toEqual([]);
  });

  it('leave the environment to settings: an entry point only hands it on', () => {
    const readers = src.filter(({ text }) => /process\.env\b(?=[.[])/.test(text)).map(({ path }) => path);
    expect(readers).toEqual([]);
  });
});

/** Files in a circle of imports, or on a path between two circles. */
function inCircles(edges: [from: string, to: string][]): string[] {
  let left = edges.filter(([from, to]) => from !== to);
  for (let before = -1; before !== left.length;) {
    before = left.length;
    const [froms, tos] = [new Set(left.map(([from]) => from)), new Set(left.map(([, to]) => to))];
    left = left.filter(([from, to]) => tos.has(from) && froms.has(to));
  }
  return [...new Set(left.map(([from]) => from))];
}

describe('a circle of imports', () => {
  const paths = new Map(src.map(({ path }) => [path.replace(/\.tsx?$/, ''), path]));
  const imports = src.flatMap((source) =>
    importsOf(source).map(({ target }): [string, string] => [source.path, paths.get(target) ?? source.path]),
  );

  it('is between no files, of types neither', () => {
    expect(inCircles(imports)).toEqual([]);
  });

  it('is between no folders', () => {
    expect(inCircles(imports.map(([from, to]) => [posix.dirname(from), posix.dirname(to)]))).toEqual([]);
  });

  it('would be seen', () => {
    const planted: [string, string][] = [...imports, ['src/domain/money.ts', 'src/api/app.ts']];
    expect(inCircles(planted)).toContain('src/domain/money.ts');
  });
});

describe('a planted import', () => {
  // In each form that TypeScript has.
  it.each([
    [`import { b } from '../database/b';`, 'src/database/b'],
    [`import type { B } from '../database/b';`, 'type of src/database/b'],
    [`import {\n  b,\n  c,\n} from '../api/b';`, 'src/api/b'],
    [`import * as b from '../api/b';`, 'src/api/b'],
    [`import b, { type C } from '../api/b';`, 'src/api/b'],
    [`import { b } from './b';\nimport { c } from '../api/c';`, 'src/api/c'],
    [`export { b } from '../api/b';`, 'src/api/b'],
    [`export * from '../api/b';`, 'src/api/b'],
    [`import '../api/b';`, 'src/api/b'],
    [`const b = await import('../api/b');`, 'src/api/b'],
    [`const b = require('../api/b');`, 'src/api/b'],
    [`type B = import('../api/b').B;`, 'src/api/b'],
    [`await import(name);`, 'a computed import (name)'],
    [`const all = '**/*.ts';\nawait import('../api/b');\n/* the end */`, 'src/api/b'],
    [`import { z } from 'zod';`, 'zod'],
    [`import { readFile } from 'node:fs';`, 'node:fs'],
    [`import { b } from '../../test/support/b';`, 'test/support/b'],
  ])('is seen in domain: %j', (text, seen) => {
    expect(arrowProblems({ path: 'src/domain/a.ts', text })).toEqual([`src/domain/a.ts → ${seen}`]);
  });

  it.each([
    ['src/database/a.ts', '../temporal/b'],
    ['src/workflows/a.ts', '../activities/b'],
    ['src/activities/a.ts', '../api/b'],
    ['src/api/a.ts', '../activities/b'],
    ['src/api/a.ts', '../../packages/client/src'],
    ['src/settings/a.ts', '../database/b'],
    ['src/activities/a.ts', '../settings/b'],
    ['src/console/a.ts', '../../packages/client/src/api.generated'],
    ['src/sandbox/a.ts', '../database/b'],
    ['src/elsewhere/a.ts', '../domain/b'],
  ])('is seen in %s: %s', (path, from) => {
    const target = posix.join(posix.dirname(path), from);
    expect(arrowProblems({ path, text: `import { b } from '${from}';` })).toEqual([`${path} → ${target}`]);
  });

  it.each([
    ['src/domain/a.ts', `import { b } from './b';\nimport Big from 'big.js';`],
    ['src/domain/a.ts', `// import { b } from '../api/b';`],
    ['src/database/a.ts', `import { b } from '../domain/b';\nimport knex from 'knex';`],
    ['src/workflows/a.ts', `export type { B } from '../activities/b';`],
    ['src/workflows/a.ts', `import { b } from '../temporal/search-attribute-keys';`],
    ['src/activities/a.ts', `import type { Config } from '../settings/config';`],
    ['src/api/main.ts', `import { b } from '../activities/b';`],
    ['src/start/a.ts', `import { b } from '../worker/main';`],
    ['src/console/a.ts', `import type { B } from '../../packages/client/src/api.generated';`],
    ['src/sandbox/a.ts', `import { b } from '../../packages/client/src';`],
  ])('is let be in %s: %j', (path, text) => {
    expect(arrowProblems({ path, text })).toEqual([]);
  });

  it('of a clock or of dice is seen in domain', () => {
    for (const text of ['const at = new Date();', 'Date.now()', 'Math.random() < 0.5', 'randomBytes(8)'])
      expect(purityProblems({ path: 'src/domain/a.ts', text })).toHaveLength(1);
    const text = "new Date(at); // not new Date('now')";
    expect(purityProblems({ path: 'src/domain/a.ts', text })).toEqual([]);
  });
});

/** All that these files reach, whatever leads there; packages stay outside. */
function reachedFrom(paths: readonly string[], sources: readonly Source[]): string[] {
  const byTarget = new Map(sources.map((source) => [source.path.replace(/\.ts$/, ''), source]));
  const reached = new Set(paths);
  for (const path of reached) {
    const source = byTarget.get(path.replace(/\.ts$/, ''));
    for (const { target } of source ? importsOf(source) : []) {
      reached.add(byTarget.get(target)?.path ?? target);
    }
  }
  return [...reached];
}

describe('the oracle of the proof', () => {
  const sources = ['src', 'test', 'examples'].flatMap((folder) => filesUnder(folder));
  const oracle = sources.map(({ path }) => path).filter((path) => path.startsWith('test/prove/oracle/'));

  it('shares no code with the engine, nor any package: a mistake of both would be none', () => {
    expect(oracle).not.toEqual([]);
    const outside = reachedFrom(oracle, sources).filter((path) => !/^test\/(prove|storm)\//.test(path));
    expect(outside).toEqual([]);
  });

  it('would be seen to, also by a detour', () => {
    const detour = [
      ...sources,
      { path: 'test/prove/oracle/a.ts', text: `import { b } from '../b';` },
      { path: 'test/prove/b.ts', text: `import { dueDate } from '../../src/domain/calendar';` },
    ];
    expect(reachedFrom(['test/prove/oracle/a.ts'], detour)).toEqual(
      expect.arrayContaining(['src/domain/calendar.ts', 'temporal-polyfill']),
    );
  });
});

const ROOM = /^(utils?|helpers?|common|misc|shared)$/;

/** Folders and file of a path, without extensions. */
function parts(path: string): string[] {
  return path.split('/').map((part) => part.replace(/\..*$/, ''));
}

const SCALE = 'src/console/parts/theme.css';
/** Columns and boxes measure themselves: no scale would fit each content. */
const OF_A_BOX = /^(?:(?:min-|max-)?(?:width|height)|flex|grid-template-columns)$/;
const OFF_SCALE = /\d(?:px|r?em)\b|#[\da-f]{3}|\b(?:rgb|hsl|light-dark)\(/;

function sizesOffScale({ path, text }: Source): string[] {
  const rules = text.replace(/\/\*[^]*?\*\//g, '').replace(path === SCALE ? /:root \{[^}]*\}/ : '', '');
  return [...rules.matchAll(/([\w-]+):\s*([^;{}]+);/g)]
    .filter(([, name = '', value = '']) => !OF_A_BOX.test(name) && OFF_SCALE.test(value))
    .map(([declaration]) => `${path}: ${declaration}`);
}

describe('the look', () => {
  it('has one scale of type, space and colour, which each stylesheet takes its own from', () => {
    const sheets = ['src', 'site'].flatMap((folder) => filesUnder(folder, /\.css$/));
    expect(sheets.map(({ path }) => path)).toContain(SCALE);
    expect(sheets.flatMap(sizesOffScale)).toEqual([]);
  });

  it.each(['gap: 3px', 'font-size: 0.9rem', '--own: 1.2em', 'color: #b00', 'margin: calc(1rem + 1px)'])(
    'would be seen to: %s',
    (declaration) => {
      const text = `a {\n  min-width: 3rem;\n  ${declaration};\n}\n`;
      expect(sizesOffScale({ path: 'src/a.css', text })).toEqual([`src/a.css: ${declaration};`]);
      expect(sizesOffScale({ path: SCALE, text: `:root {\n  --a: 1px;\n}\n${text}` })).toHaveLength(1);
    },
  );
});

const SELF = 'test/architecture.test.ts';
/** Shells and programs in another language that a test reads, and what belongs to a whole run. */
const OTHER_PROGRAMS = [
  'test/cli/conformance.test.ts',
  'test/fuzz/schemathesis.ts',
  'test/parties/process.ts',
  'test/start/lock.test.ts',
  'test/start/supervisor.test.ts',
  'test/support/servers.ts',
  'test/support/shell.ts',
  'test/webhook-receiver.test.ts',
];

describe('what tests, benchmarks and examples share', () => {
  const sources = ['test', 'bench', 'examples'].flatMap((folder) => filesUnder(folder));

  it('starts engines and servers in one way, so that each of them is ended, whoever started it', () => {
    const starting = sources
      .filter(({ path, text }) => path !== SELF && /\b(?:spawn|fork)\(/.test(text))
      .map(({ path }) => path);
    expect(starting.toSorted()).toEqual([...OTHER_PROGRAMS, 'test/launch/process.ts'].toSorted());
  });

  it('leads simulated parties to the network in one way: one client asks for their tokens', () => {
    const ofApi = /^test\/(?:api|hostile|sandbox|support)\//;
    const parties = sources.filter(({ path }) => !ofApi.test(path) && path !== SELF);
    const asking = parties.filter(({ text }) => text.includes('client_credentials')).map(({ path }) => path);
    expect(asking).toEqual(['test/parties/client.ts']);
  });
});

describe('the style', () => {
  it('has no room where anything may be put: every file is named for what it holds', () => {
    const folders = ['src', 'test', 'bench', 'migrations', 'scripts', 'packages/client/src', 'examples'];
    const paths = folders.flatMap((folder) => filesUnder(folder)).map(({ path }) => path);
    expect(paths.filter((path) => parts(path).some((part) => ROOM.test(part)))).toEqual([]);
    expect(parts('src/api/helpers.test.ts').some((part) => ROOM.test(part))).toBe(true);
  });

  it('keeps each folder of src at 40 files or fewer: a feature has a room of its own', () => {
    const folders = src.map(({ path }) => posix.dirname(path));
    const crowded = [...new Set(folders)].filter(
      (one) => folders.filter((other) => other === one).length > 40,
    );
    expect(crowded).toEqual([]);
  });

  it('keeps each file of src at 400 lines or fewer, to be read in one sitting', () => {
    const long = src.filter(({ text }) => text.trimEnd().split('\n').length > 400).map(({ path }) => path);
    expect(long).toEqual([]);
  });
});
