import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { SETTING_NAMES } from '../src/settings/config';

const ROOT = join(__dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = [
  ...readdirSync(ROOT).filter((file) => file.endsWith('.md')),
  'packages/client/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** Headings as GitHub makes anchors of them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documentation', () => {
  it('links to pages, files and headings that exist', () => {
    const dead = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)]
        .filter(([, file = '', anchor]) => {
          const target = file === '' ? path : join(dirname(path), file);
          if (!existsSync(join(ROOT, target))) return true;
          if (anchor === undefined) return false;
          return !anchorsOf(readFileSync(join(ROOT, target), 'utf8')).includes(anchor);
        })
        .map(([link]) => `${path}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it('names source files that exist, from the root or from src', () => {
    const gone = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/`([\w-]+(?:\/[\w-]+)*\/[\w.-]+\.(?:ts|json|ya?ml|cfg))`/g)]
        .map(([, file = '']) => file)
        .filter((file) => !existsSync(join(ROOT, file)) && !existsSync(join(ROOT, 'src', file)))
        .map((file) => `${path}: ${file}`),
    );
    expect(gone).toEqual([]);
  });

  it('names to whoever goes live no setting and no alert that there is not', () => {
    const known = new Set([
      ...SETTING_NAMES,
      ...[...read('deploy/prometheus/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name),
    ]);
    const named = [...read('docs/going-live.md').matchAll(/`((?:Assent|[A-Z]+_)\w+)`/g)].map(
      ([, name]) => name,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('has each section of operations.md that a sentence of the code sends an operator to', () => {
    const sections = new Set(
      [...read('docs/operations.md').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading),
    );
    const named = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [
        ...read(join('src', file)).matchAll(/operations\.md, "([^"]+)"|"([^"]+)" in docs\/operations\.md/g),
      ])
      .map(([, before, after]) => before ?? after ?? '');
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((section) => !sections.has(section))).toEqual([]);
  });

  it('names functions that the file named beside them has', () => {
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/`(\w+)`\s+in\s+`([\w-]+(?:\/[\w-]+)*\/[\w.-]+\.ts)`/g)].map(
        ([, name = '', file = '']) => ({ path, name, file }),
      ),
    );
    const wrong = named.filter(({ name, file }) => {
      const source = [join(ROOT, file), join(ROOT, 'src', file)].find((one) => existsSync(one));
      return source === undefined || !new RegExp(`\\b${name}\\b`).test(readFileSync(source, 'utf8'));
    });
    expect(named.length).toBeGreaterThan(5);
    expect(wrong).toEqual([]);
  });
});

/** Folders of the root that other programs fill. */
const NOT_OURS = ['.git', 'node_modules', 'dist', '.assent', 'coverage'];

/** Every file of the project, from the root. */
const files = (() => {
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !NOT_OURS.includes(entry.name))
    .map(({ name }) => name);
  return [
    ...readdirSync(ROOT, { withFileTypes: true }).filter((file) => file.isFile()),
    ...folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).filter((file) =>
        file.isFile(),
      ),
    ),
  ]
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
    .filter((file) => !file.split(/[/\\]/).some((part) => NOT_OURS.includes(part)));
})();

it('no file of the project has a mark that an unfinished merge left', () => {
  // Of the middle of a merge nothing is asked: Markdown underlines headings with it.
  const marked = files.filter((file) =>
    /^(?:<{7}|>{7}|\|{7}) /m.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(marked).toEqual([]);
});

/** Lines of an example, which a reader takes in at one sitting: docs/integration.md says so. */
const EXAMPLE_LINES = 100;

it('no example is longer than the pages say', () => {
  const examples = files.filter((file) => /^examples\/(bank|shop)\/.*\.ts$/.test(file));
  expect(examples).toHaveLength(2);
  const long = examples.filter((file) => read(file).trimEnd().split('\n').length >= EXAMPLE_LINES);
  expect(long).toEqual([]);
});

/** Columns of a comment. Pages of Markdown are wrapped by prettier. */
const COMMENT_WIDTH = 100;

it('no comment is wider than a reader takes in at once', () => {
  const wide = files
    .filter((file) => /\.[cm]?[jt]s$/.test(file))
    .flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .map((line, i) => ({ line, at: `${file}:${i + 1}` }))
        .filter(({ line }) => line.length > COMMENT_WIDTH && /^\s*(?:\*|\/\/|\/\*\*) \S+ /.test(line)),
    );
  expect(wide.map(({ at }) => at)).toEqual([]);
});
