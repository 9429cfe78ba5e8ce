import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/**
 * Who may import whom. Nothing here is a matter of taste: a workflow that reached a database would break its
 * replay, and a rule of money that reached a clock could not be tested as a table.
 */
const MAY_IMPORT: Record<string, RegExp> = {
  domain: /^domain\//,
  database: /^(database|domain)\//,
  workflows: /^(workflows|domain)\//,
  temporal: /^(temporal|database|domain)\/|^workflows\/(messages|search-attributes)$/,
  activities: /^(activities|database|domain|temporal)\/|^workflows\/messages$/,
  api: /^(api|database|domain|temporal)\/|^workflows\/messages$|^config$/,
};

/** Types carry no code along: anybody may name the settings, and a workflow the activities that it calls. */
const MAY_NAME_TYPES: Record<string, RegExp> = {
  workflows: /^activities\//,
  temporal: /^config$/,
  activities: /^config$/,
};

/** Packages by which a layer would reach what it must not. */
const MUST_NOT_USE: Record<string, RegExp> = {
  domain: /^(node:(?!crypto$)|zod|pg$|knex|express|undici|@temporalio)/,
  database: /^(zod|express|undici|@temporalio)/,
  workflows: /^(node:|zod|uuid|pg$|knex|express|undici|@temporalio\/(client|worker|activity))/,
  activities: /^(zod|express)/,
};

const source = join(__dirname, '../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));

/** Processes, which put everything together. */
const composes = (file: string) => /^(worker|start|cli)\/|\/main\.ts$/.test(file);

const imports = files.flatMap((file) => {
  const text = readFileSync(join(source, file), 'utf8');
  const found = text.matchAll(
    /^(?:import|export)\s+(type\s)?[^;'"]*?['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gm,
  );
  return [...found].map(([, type, from, dynamic]) => {
    const specifier = from ?? dynamic ?? '';
    return {
      file,
      layer: file.split('/')[0] ?? '',
      typeOnly: type !== undefined,
      specifier,
      target: specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : undefined,
    };
  });
});

const told = (found: typeof imports) =>
  found.map(({ file, specifier }) => `${file} imports ${specifier}`).sort();

describe('the layers', () => {
  it('import only what their arrows point at', () => {
    const wrong = imports.filter(({ file, layer, target, typeOnly }) => {
      if (target === undefined || composes(file)) return false;
      const allowed = MAY_IMPORT[layer]?.test(target) ?? layer.endsWith('.ts');
      return !allowed && !(typeOnly && MAY_NAME_TYPES[layer]?.test(target));
    });
    expect(imports.length).toBeGreaterThan(100);
    expect(told(wrong)).toEqual([]);
  });

  it('use no package by which they would reach further', () => {
    const wrong = imports.filter(
      ({ file, layer, target, typeOnly, specifier }) =>
        target === undefined && !typeOnly && !composes(file) && MUST_NOT_USE[layer]?.test(specifier),
    );
    expect(told(wrong)).toEqual([]);
  });

  it('leave the environment to config.ts, which entry points hand it to', () => {
    const readers = files.filter(
      (file) =>
        !composes(file) &&
        file !== 'config.ts' &&
        readFileSync(join(source, file), 'utf8').includes('process.env'),
    );
    expect(readers).toEqual([]);
  });
});
