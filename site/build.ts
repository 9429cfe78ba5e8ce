import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { OpenApiDocument } from '../src/api/openapi/document';
import { brunoCollection } from './bruno';
import { render, type Heading } from './markdown';
import { documentOf, SECTIONS, type Page, type Parts } from './pages';
import { referencePages } from './reference';

/* Makes the documentation's site out of the Markdown of the project and the OpenAPI document. */

const ROOT = path.join(__dirname, '..');

/** The address below `/docs` of a file of Markdown. */
function pathOf(file: string): string {
  if (file === 'README.md') return 'quickstart';
  if (file === 'packages/client/README.md') return 'client';
  return file
    .replace(/^docs\//, '')
    .replace(/(?:\/README)?\.md$/, '')
    .toLowerCase();
}

const TITLES = new Map(SECTIONS.flatMap(({ pages }) => pages));

/** Sections before the reference. */
const AT_FIRST = 4;

const COLLECTION = 'assent-bruno.zip';

/** Files by their name below `/docs`: pages have no ending. */
export type Site = Map<string, string | Uint8Array>;

export async function buildSite(document: OpenApiDocument, parts: Parts): Promise<Site> {
  const files = await filesIn();
  const known = new Set(files);
  const texts = await Promise.all(
    files
      .filter((file) => file.endsWith('.md'))
      .map(async (file) => [file, await readFile(path.join(ROOT, file), 'utf8')] as const),
  );
  const written = texts.map(([file, text]) => pageOf(file, text, known));
  const reference = referencePages(document);
  const sections = SECTIONS.map((section) => ({
    title: section.title,
    pages: section.pages.map(([file, name]) => ({ path: pathOf(file), title: name })),
  }));
  const tags = reference.map(({ slug, title: name }) => ({ path: `reference/${slug}`, title: name }));
  const contents = [
    ...sections.slice(0, AT_FIRST),
    { title: 'Reference', pages: [{ path: 'reference', title: 'All operations' }, ...tags] },
    ...sections.slice(AT_FIRST),
  ];
  const readme = texts.find(([file]) => file === 'README.md')?.[1] ?? '';
  const pages: Page[] = [
    home(readme, contents),
    ...written.map((page, n) => ({ ...page, title: TITLES.get(texts[n]?.[0] ?? '') ?? page.title })),
    { path: 'reference', title: 'Reference', html: overview(document, reference), headings: [] },
    ...reference.map(({ slug, title: name, html }) => ({
      path: `reference/${slug}`,
      title: name,
      html,
      headings: [],
    })),
    { path: 'not-found', title: 'No such page', html: NOT_FOUND, headings: [] },
  ];
  const search = [
    ...pages.flatMap(({ path: at, title: name, headings }) => headings.map((one) => entry(at, name, one))),
    ...reference.flatMap(({ slug, title: name, operations }) =>
      operations.map((one) => entry(`reference/${slug}`, name, { ...one, level: 2, code: '' })),
    ),
  ];
  const images = files.filter((file) => file.endsWith('.png'));
  return new Map<string, string | Uint8Array>([
    ...pages.map((page) => [page.path, documentOf(page, contents, parts)] as const),
    ['search.json', JSON.stringify(search)],
    [COLLECTION, brunoCollection(document)],
    ...(await Promise.all(
      images.map(async (file) => [pathOf(file), await readFile(path.join(ROOT, file))] as const),
    )),
  ]);
}

async function filesIn(): Promise<string[]> {
  const below = await readdir(path.join(ROOT, 'docs'), { recursive: true });
  const top = (await readdir(ROOT)).filter((file) => file.endsWith('.md') && file !== 'CONTRIBUTING.md');
  return [
    ...top,
    'packages/client/README.md',
    ...below.map((file) => path.posix.join('docs', file.replaceAll(path.sep, '/'))),
  ].filter((file) => /\.(?:md|png)$/.test(file));
}

const entry = (at: string, page: string, { id, level, title, text, code }: Heading) => ({
  id: `/docs/${at}${level > 1 ? `#${id}` : ''}`,
  page,
  title,
  text,
  code,
});

function pageOf(file: string, text: string, known: ReadonlySet<string>): Page {
  const addressOf = (target: string): string | undefined => {
    const [name = '', anchor] = target.split('#');
    if (/^\w+:/.test(target) || name.startsWith('/')) return target;
    const to = name === '' ? file : path.posix.join(path.posix.dirname(file), name);
    if (!known.has(to)) return undefined;
    return `/docs/${pathOf(to)}${anchor === undefined ? '' : `#${anchor}`}`;
  };
  const shown = file === 'README.md' ? quickstart(text) : text;
  const { html, headings } = render(shown, addressOf);
  return { path: pathOf(file), title: headings[0]?.title ?? file, html, headings };
}

/** The site has the part of the README that leads to a first charge. */
function quickstart(readme: string): string {
  const [start = ''] = /^```sh\n[^]*?^```\n/m.exec(readme) ?? [];
  const [first = ''] = /^The first start [^]*?\n\n/m.exec(readme) ?? [];
  const minutes = readme.slice(readme.indexOf('## Five minutes'), readme.indexOf('## More'));
  return `# Quickstart\n\n${start}\n${first}${minutes}`;
}

function home(readme: string, contents: { title: string; pages: { path: string; title: string }[] }[]): Page {
  const about = /\n\n(Assent is the billing engine[^]*?)\n\n/.exec(readme)?.[1] ?? '';
  const cards = contents
    .map(
      ({ title, pages }) =>
        `<section class="card"><h2>${title}</h2><ul>${pages.map((one) => `<li><a href="/docs/${one.path}">${one.title}</a></li>`).join('')}</ul></section>`,
    )
    .join('');
  const html = `<h1>Bill customers through their bank</h1><div class="lead">${render(about).html}</div>
    <p class="row"><a class="button first" href="/docs/quickstart">Quickstart</a> <a class="button" href="/docs/reference">Reference</a></p>
    <div class="cards">${cards}</div>`;
  return { path: '', title: 'Documentation', html, headings: [] };
}

/** For an address that has no page. */
const NOT_FOUND = `<h1>There is no such page</h1><p>It may have another address now: <a href="/docs">begin at the start</a>, or <a href="#search">search the documentation</a>.</p>`;

/** The way in: how to get a token, and each operation in a line. */
function overview(document: OpenApiDocument, reference: ReturnType<typeof referencePages>): string {
  const [first, ...others] = reference;
  const { description } = document['info'] as { description: string };
  const lists = others
    .map(
      ({ slug, title, operations }) =>
        `<h2 id="${slug}"><a href="/docs/reference/${slug}">${title}</a></h2><ul class="operations">${operations.map((one) => `<li><a href="/docs/reference/${slug}#${one.id}">${one.title}</a> <code>${one.text.split(' ')[0]}</code></li>`).join('')}</ul>`,
    )
    .join('');
  const start = first?.html.replaceAll(/<(\/?)h1>/g, '<$1h2>') ?? '';
  return `<h1>Reference</h1>${start}${lists}<h2 id="bruno">In Bruno</h2><p><a href="/docs/${COLLECTION}" download>A collection</a> for <a href="https://www.usebruno.com">Bruno</a> has these operations. Import it, and set <code>client_id</code> and <code>client_secret</code> of its environment.</p><h2 id="calls">Every call</h2>${render(description).html}`;
}
