import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';

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
 * What each layer may import beside itself: other layers of `src` by their names, and what is
 * outside of `src` by its path; all of them, or modules of one.
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
  'packages/client/src': [],
  // A command. It plays the API to a bank, and the worker's webhooks.
  'packages/conformance/src': ['domain', 'database', 'api', 'activities', 'cli/command', 'cli/options'],
  // Callers: they know of the network what any caller knows, and use its client.
  'packages/sandbox/src': ['domain', 'packages/client/src'],
  // For browsers: they know of the engine what the API tells, its currencies and webhooks by name.
  'packages/pages/browser': [
    'packages/sandbox/src/state',
    'domain/currency',
    'domain/person',
    'domain/webhook/webhook',
  ],
  'packages/pages/src': ['api/app', 'api/openapi/document', 'settings/config', 'site/build'],
  'site/browser': [],
  site: ['packages/client/src/api.generated'],
};

/** The engine loads a package by its name, each in one file, and never by its path. */
const LOADED_BY: Record<string, string> = {
  '#conformance': 'src/cli/program.ts',
  '#pages': 'src/api/pages/files.ts',
  '#sandbox': 'src/api/pages/sandbox.ts',
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
  'packages/conformance/src': ['settings'],
  'packages/sandbox/src': ['settings', 'api/pages/sandbox', 'start/cast'],
  'packages/pages/browser': ['packages/client/src/api.generated'],
  site: ['api/openapi'],
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
  'packages/client/src': /^node:/,
  'packages/conformance/src': /^(commander|zod|node:.*)$/,
  'packages/sandbox/src': /^(express|zod|pino|node:.*)$/,
  'packages/pages/browser': /^(preact(\/hooks)?|uplot(\/\S+\.css)?|@simplewebauthn\/browser)$/,
  'packages/pages/src': /^(esbuild|node:.*)$/,
  'site/browser': /^minisearch$/,
  site: /^(markdown-it|@usebruno\/lang|fflate|highlight\.js\/.*|node:.*)$/,
};

/** Folders of the project: what is in them comes from no registry. */
const OURS = /^(src|packages|site|migrations|test|bench|scripts|examples|@assent)\//;

/** Layers outside of `src`. */
const OUTSIDE = Object.keys(ARROWS).filter((layer) => OURS.test(`${layer}/`));

function layerOf(path: string): string {
  return (
    OUTSIDE.find((layer) => path.startsWith(`${layer}/`)) ??
    /^src\/([^/]+?)(?:\.tsx?)?(?:\/|$)/.exec(path)?.[1] ??
    ''
  );
}

function composes(path: string): boolean {
  return COMPOSING.includes(layerOf(path)) || /^src\/.*\bmain\.ts$/.test(path);
}

function arrowProblems(source: Source): string[] {
  return importsOf(source)
    .filter((one) => !isAllowed(source.path, one))
    .map(({ target, typeOnly }) => `${source.path} → ${typeOnly ? 'type of ' : ''}${target}`);
}

function isAllowed(path: string, { target, typeOnly }: Import): boolean {
  const layer = layerOf(path);
  // Migrations are found by listing their folder.
  if (target.startsWith('a computed import')) return path === 'src/database/engine/read-migrations.ts';
  if (target.startsWith('#')) return LOADED_BY[target] === path;
  if (!OURS.test(target) && !target.startsWith('.')) return MAY_USE[layer]?.test(target) ?? true;
  if (layerOf(target) === layer || (composes(path) && target.startsWith('src/'))) return true;
  const to = target.replace(/^src\//, '');
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
const beside = ['site', ...OUTSIDE.filter((layer) => layer.startsWith('packages/'))];
const all = [...src, ...beside.flatMap((folder) => filesUnder(folder))];

describe('the layers', () => {
  it('import each other along the arrows only', () => {
    expect(all.flatMap(arrowProblems)).toEqual([]);
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
    const known = OUTSIDE.map((layer) => layer.split('/').slice(0, 2).join('/'));
    expect(readdirSync(join(ROOT, 'packages')).filter((name) => !known.includes(`packages/${name}`))).toEqual(
      [],
    );
  });

  it('have a domain that is the same today and tomorrow: no clock, no dice, no environment', () => {
    expect(src.filter(({ path }) => layerOf(path) === 'domain').flatMap(purityProblems)).toEqual([]);
  });

  it('keep amounts in minor units within: the doors alone make major ones of them', () => {
    const within = ['database', 'activities', 'workflows', 'temporal', 'process', 'worker'];
    const makers = src.filter(
      ({ path, text }) => within.includes(layerOf(path)) && /\bformatAmount\b/.test(text),
    );
    expect(makers.map(({ path }) => path)).toEqual([]);
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
  const paths = new Map(all.map(({ path }) => [path.replace(/(\/index)?\.tsx?$/, ''), path]));
  const imports = all.flatMap((source) =>
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
    ['src/api/a.ts', '../../site/b'],
    ['src/cli/a.ts', '../../packages/conformance/src/b'],
    ['src/api/main.ts', '../../packages/sandbox/src/b'],
    ['packages/pages/browser/console/a.ts', '../../../client/src/api.generated'],
    ['packages/pages/browser/console/a.ts', '../../../../src/domain/b'],
    ['packages/sandbox/src/a.ts', '../../../src/database/b'],
    ['packages/conformance/src/a.ts', '../../pages/src/b'],
    ['packages/client/src/a.ts', '../../../src/domain/b'],
    ['site/a.ts', '../src/api/openapi/b'],
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
    ['src/cli/program.ts', `const b = require('#conformance');`],
    ['packages/pages/browser/console/a.ts', `import type { B } from '../../../client/src/api.generated';`],
    ['packages/sandbox/src/a.ts', `import { b } from '../../client/src';`],
    ['packages/sandbox/src/a.ts', `import type { B } from '../../../src/start/cast';`],
  ])('is let be in %s: %j', (path, text) => {
    expect(arrowProblems({ path, text })).toEqual([]);
  });

  it.each(['src/api/app.ts', 'src/cli/doctor.ts', 'packages/sandbox/src/a.ts'])(
    'is seen in %s: a package by its name, which another file loads',
    (path) => {
      expect(arrowProblems({ path, text: `const b = require('#conformance');` })).toEqual([
        `${path} → #conformance`,
      ]);
    },
  );

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

const SCALE = 'packages/pages/browser/parts/theme.css';
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
    const sheets = ['packages/pages/browser', 'site'].flatMap((folder) => filesUnder(folder, /\.css$/));
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
    const folders = ['test', 'bench', 'migrations', 'scripts', 'examples'];
    const paths = [...all, ...folders.flatMap((folder) => filesUnder(folder))].map(({ path }) => path);
    expect(paths.filter((path) => parts(path).some((part) => ROOM.test(part)))).toEqual([]);
    expect(parts('src/api/helpers.test.ts').some((part) => ROOM.test(part))).toBe(true);
  });

  it('keeps each folder at 40 files or fewer: a feature has a room of its own', () => {
    const folders = all.map(({ path }) => posix.dirname(path));
    const crowded = [...new Set(folders)].filter(
      (one) => folders.filter((other) => other === one).length > 40,
    );
    expect(crowded).toEqual([]);
  });

  it('keeps each file at 400 lines or fewer, to be read in one sitting', () => {
    const long = all.filter(({ text }) => text.trimEnd().split('\n').length > 400).map(({ path }) => path);
    expect(long.filter((path) => !path.endsWith('.generated.ts'))).toEqual([]);
  });

  it('has one file that changes schedules, so that no change lacks its event, webhooks or signal', () => {
    const writers = src.filter(({ text }) => /\bUPDATE schedules\b/.test(text)).map(({ path }) => path);
    expect(writers).toEqual(['src/database/schedule/write-schedules.ts']);
  });
});
