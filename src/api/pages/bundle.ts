import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * The pages for browsers, as a browser takes them: compiled, and each file named for its content,
 * so that it may be kept for good. `npm run build` writes them beside the compiled sources.
 */
export interface PageBundle {
  pages: Record<PageName, PageFiles>;
  /** By name; what a page loads, and what that loads. */
  files: ReadonlyMap<string, Buffer>;
}

export type PageName = keyof typeof ENTRIES;

interface PageFiles {
  script: string;
  style: string;
}

const ENTRIES = {
  sandbox: 'sandbox/main.tsx',
  console: 'finance/main.tsx',
  docs: '../../site/browser/main.ts',
} as const;

/** `npm run build` writes the pages here. */
const BUILT = path.resolve(__dirname, '../../../pages');
const LIST = 'pages.json';
/** From this file's place among the sources, or among what is compiled of them. */
const SOURCES = ['../../console', '../../../../src/console'].map((folder) => path.resolve(__dirname, folder));

/** Reads the build's pages; without a build, compiles them in a tenth of a second. */
export async function bundledPages(): Promise<PageBundle> {
  return existsSync(path.join(BUILT, LIST)) ? readBuilt() : compile();
}

async function readBuilt(): Promise<PageBundle> {
  const pages = JSON.parse(await readFile(path.join(BUILT, LIST), 'utf8')) as PageBundle['pages'];
  const names = (await readdir(BUILT)).filter((name) => name !== LIST);
  const read = names.map(async (name) => [name, await readFile(path.join(BUILT, name))] as const);
  return { pages, files: new Map(await Promise.all(read)) };
}

async function compile(): Promise<PageBundle> {
  const source = SOURCES.find((folder) => existsSync(path.join(folder, ENTRIES.sandbox)));
  if (source === undefined) throw new Error('the pages were not built: run "npm run build"');
  // esbuild is loaded only here: an installation from a build has no compiler.
  const { build, stop } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: source,
    entryPoints: Object.entries(ENTRIES).map(([name, file]) => ({ in: file, out: name })),
    outdir: BUILT,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    write: false,
    metafile: true,
    logLevel: 'silent',
  }).finally(() => stop());
  const filesOf = (entry: string): PageFiles => {
    const [script, made] =
      Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
    if (script === undefined || made?.cssBundle === undefined) throw new Error(`${entry} made no page`);
    return { script: path.basename(script), style: path.basename(made.cssBundle) };
  };
  return {
    pages: {
      sandbox: filesOf(ENTRIES.sandbox),
      console: filesOf(ENTRIES.console),
      docs: filesOf(ENTRIES.docs),
    },
    files: new Map(
      outputFiles.map(({ path: file, contents }) => [path.basename(file), Buffer.from(contents)]),
    ),
  };
}

async function main(): Promise<void> {
  const { pages, files } = await compile();
  // Files left by an earlier build would be served for ever.
  await rm(BUILT, { recursive: true, force: true });
  await mkdir(BUILT, { recursive: true });
  for (const [name, contents] of files) await writeFile(path.join(BUILT, name), contents);
  await writeFile(path.join(BUILT, LIST), JSON.stringify(pages));
}

if (require.main === module) void main();
