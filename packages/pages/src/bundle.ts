import path from 'node:path';
import { build, stop } from 'esbuild';

/** The browser's part of the pages: compiled, and each file named for its content. */
export interface Bundle {
  pages: Record<keyof typeof ENTRIES, PageParts>;
  /** Contents by name: scripts, styles, and the scripts that several pages share. */
  files: ReadonlyMap<string, Buffer>;
}

/** Names of the files that a page loads. */
export interface PageParts {
  script: string;
  style: string;
}

const ENTRIES = {
  sandbox: 'sandbox/main.tsx',
  console: 'console/main.tsx',
  docs: '../../../site/browser/main.ts',
} as const;

export async function bundle(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: path.join(__dirname, '../browser'),
    entryPoints: Object.entries(ENTRIES).map(([name, file]) => ({ in: file, out: name })),
    // Only names are taken from it: nothing is written.
    outdir: 'dist',
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
  const partsOf = (entry: string): PageParts => {
    const [script, made] =
      Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
    if (script === undefined || made?.cssBundle === undefined) throw new Error(`${entry} made no page`);
    return { script: path.basename(script), style: path.basename(made.cssBundle) };
  };
  return {
    pages: {
      sandbox: partsOf(ENTRIES.sandbox),
      console: partsOf(ENTRIES.console),
      docs: partsOf(ENTRIES.docs),
    },
    files: new Map(
      outputFiles.map(({ path: file, contents }) => [path.basename(file), Buffer.from(contents)]),
    ),
  };
}
