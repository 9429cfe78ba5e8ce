import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/*
 * The fenced blocks of the documentation, and which test runs each. A test takes its blocks from
 * here, so what is said to be run is what it gets. `test/documentation-blocks.test.ts` sees to the
 * rest.
 */

const ROOT = path.join(__dirname, '../..');

export interface CodeBlock {
  /** From the root, as `docs/api.md`. */
  page: string;
  /** The line of its fence, for a reader who looks for it. */
  line: number;
  /** The word beside the fence; empty if there is none. */
  language: string;
  heading: string;
  /** The words in bold above it, under the same heading. */
  title: string;
  /** Without the indentation of its fence. */
  text: string;
}

/** Every page that has blocks, or may come to have some. */
export const PAGES = [
  ...readdirSync(ROOT).filter((file) => file.endsWith('.md')),
  ...['docs', 'examples', 'deploy', 'packages/client'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
      .map((file) => path.join(folder, file)),
  ),
];

/** @throws Error where the last block is not closed */
export function codeBlocks(page: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let [heading, title] = ['', ''];
  let open: { block: CodeBlock; indent: string; close: string } | undefined;
  for (const [at, line] of readFileSync(path.join(ROOT, page), 'utf8').split('\n').entries()) {
    const [, indent = '', marks, language = ''] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (open) {
      if (line === open.close) open = undefined;
      else open.block.text += `${line.startsWith(open.indent) ? line.slice(open.indent.length) : line}\n`;
    } else if (marks !== undefined) {
      const block = { page, line: at + 1, language, heading, title, text: '' };
      blocks.push(block);
      open = { block, indent, close: indent + marks };
    } else if (/^#+ /.test(line)) {
      [heading, title] = [line.replace(/^#+ /, ''), ''];
    } else {
      title = /^\*\*(.+?)\*\*/.exec(line)?.[1] ?? title;
    }
  }
  if (open) throw new Error(`${page}:${open.block.line}: the block is not closed`);
  return blocks;
}

/** Blocks of a page that a test runs. */
interface Run {
  page: string;
  language: string;
  /** All blocks of the language, if it is left out. */
  which?: (block: CodeBlock) => boolean;
}

/** It names something that a reader puts in, as `<reference>`. */
const asksForMore = ({ text }: CodeBlock) => /<\w+>/.test(text);
/** It needs a program that only some machines have. */
const needsOthers = ({ text }: CodeBlock) => /\bpsql /.test(text);
const sh = (page: string, which?: Run['which']): Run => ({ page, language: 'sh', ...(which && { which }) });

/** By test. */
export const RUNS: Record<string, Run[]> = {
  'test/readme.test.ts': [
    sh('README.md', ({ heading }) => heading === 'Five minutes'),
    ...['merchant', 'bank', 'bank-app', 'provider', 'finance'].map((name) => sh(`docs/guides/${name}.md`)),
    { page: 'docs/guides/merchant.md', language: 'python' },
    sh('docs/guides/testing.md'),
    { page: 'packages/client/README.md', language: 'ts' },
    ...['webhooks', 'bank-files', 'ledger', 'statements', 'tamper-evidence'].map((name) =>
      sh(`docs/${name}.md`),
    ),
    sh('docs/operations.md', (block) => asksForMore(block) && !needsOthers(block)),
    { page: 'docs/bank-files.md', language: 'csv' },
    { page: 'docs/tamper-evidence.md', language: 'json' },
  ],
  'test/operations.test.ts': [
    sh('docs/operations.md', (block) => !asksForMore(block) && !needsOthers(block)),
    { page: 'docs/operations.md', language: 'sql' },
    sh('docs/going-live.md'),
  ],
  'test/cli/conformance.test.ts': [sh('docs/integration.md')],
  'test/kubernetes.test.ts': [sh('docs/kubernetes.md')],
  'test/webhook-receiver.test.ts': [
    { page: 'docs/webhooks.md', language: 'js' },
    { page: 'docs/webhooks.md', language: 'python' },
  ],
  'test/client/webhook.test.ts': [{ page: 'docs/webhooks.md', language: 'json' }],
  'test/api/openapi/document.test.ts': [
    { page: 'docs/api.md', language: 'json' },
    { page: 'docs/bank-files.md', language: 'json' },
  ],
  'test/files/bank-file-csv.test.ts': [{ page: 'docs/bank-files.md', language: 'csv' }],
  'test/files/bank-file-camt.test.ts': [{ page: 'docs/bank-files.md', language: 'xml' }],
};

/** Blocks of a page for this test, in their order. */
export function blocksRunBy(test: string, page: string): CodeBlock[] {
  const runs = (RUNS[test] ?? []).filter((run) => run.page === page);
  return codeBlocks(page).filter((block) =>
    runs.some(({ language, which }) => block.language === language && (which?.(block) ?? true)),
  );
}
