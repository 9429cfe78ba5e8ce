import type { Heading } from './markdown';

/** Which pages the site has, in the order of its contents. */

export interface Section {
  title: string;
  pages: [file: string, title: string][];
}

/** Files from the root of the project. Links alone lead to those that stand nowhere here. */
export const SECTIONS: Section[] = [
  {
    title: 'Start',
    pages: [
      ['README.md', 'Quickstart'],
      ['docs/sandbox.md', 'The sandbox'],
      ['docs/console.md', 'The console'],
    ],
  },
  {
    title: 'Guides',
    pages: [
      ['docs/guides/merchant.md', 'Merchants'],
      ['docs/guides/bank.md', 'Banks'],
      ['docs/guides/bank-app.md', 'A bank’s app'],
      ['docs/guides/provider.md', 'Providers'],
      ['docs/guides/finance.md', 'Finance teams'],
      ['docs/integration.md', 'Integrate'],
      ['docs/guides/testing.md', 'Testing'],
      ['packages/client/README.md', 'TypeScript client'],
    ],
  },
  {
    title: 'Concepts',
    pages: [
      ['docs/concepts/agreement.md', 'Agreement'],
      ['docs/concepts/charge.md', 'Charge'],
      ['docs/concepts/schedule.md', 'Schedule'],
      ['docs/concepts/exception.md', 'Exception'],
      ['docs/concepts/settlement-day.md', 'Settlement day'],
      ['docs/glossary.md', 'Glossary'],
    ],
  },
  {
    title: 'API',
    pages: [
      ['docs/api.md', 'Conventions'],
      ['docs/webhooks.md', 'Webhooks'],
      ['docs/errors.md', 'Error codes'],
      ['docs/api-policy.md', 'Promise about change'],
      ['docs/api-changelog.md', 'Changes'],
    ],
  },
  {
    title: 'Money',
    pages: [
      ['docs/ledger.md', 'Ledger'],
      ['docs/statements.md', 'Statements'],
      ['docs/bank-files.md', 'Bank files'],
      ['docs/tamper-evidence.md', 'Tamper evidence'],
    ],
  },
  {
    title: 'Operate',
    pages: [
      ['docs/architecture.md', 'Architecture'],
      ['docs/going-live.md', 'Going live'],
      ['docs/operations.md', 'Operations'],
      ['docs/kubernetes.md', 'Kubernetes'],
      ['docs/tracing.md', 'Tracing'],
      ['docs/retention.md', 'Retention'],
      ['docs/reliability.md', 'Reliability'],
      ['docs/proof.md', 'Proof'],
      ['docs/performance.md', 'Performance'],
      ['docs/scaling.md', 'Scaling'],
      ['docs/schema.md', 'Schema'],
      ['docs/decisions/README.md', 'Decisions'],
      ['SECURITY.md', 'Security'],
      ['CHANGELOG.md', 'Releases'],
    ],
  },
];

export interface Page {
  /** Below `/docs`, without a slash at its begin: `guides/merchant`. */
  path: string;
  title: string;
  html: string;
  headings: Heading[];
}

/** Names of the files that a page loads below `/pages`, and its icon, as a `data:` URL. */
export interface Parts {
  script: string;
  style: string;
  icon: string;
}

const link = ({ path, title }: Pick<Page, 'path' | 'title'>, current: string) =>
  `<li><a href="/docs${path && `/${path}`}"${path === current ? ' aria-current="page"' : ''}>${title}</a></li>`;

/** The document of a page. Nothing in it is a script or a style: the policy forbids them. */
export function documentOf(
  page: Page,
  contents: { title: string; pages: Pick<Page, 'path' | 'title'>[] }[],
  { script, style, icon }: Parts,
): string {
  const menu = contents
    .map(
      ({ title, pages }) => `<h2>${title}</h2><ul>${pages.map((one) => link(one, page.path)).join('')}</ul>`,
    )
    .join('');
  const own = page.headings.filter(({ level }) => level === 2);
  const outline = own.map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`).join('');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${page.title} – Assent</title>
    <link rel="icon" href="${icon}" />
    <link rel="stylesheet" href="/pages/${style}" />
    <script type="module" blocking="render" src="/pages/${script}"></script>
  </head>
  <body>
    <a class="skip" href="#main">To the text</a>
    <header>
      <a class="brand" href="/docs"><img class="mark-of-assent" src="${icon}" alt="" />Assent <span>docs</span></a>
      <div class="search">
        <input type="search" id="search" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list" placeholder="Search" aria-label="Search the documentation" autocomplete="off" />
        <ul id="found" role="listbox" aria-label="Found" hidden></ul>
      </div>
      <button type="button" id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button>
      <button type="button" id="theme">Dark</button>
    </header>
    <div class="site">
      <nav id="menu" class="pages" aria-label="Contents">${menu}</nav>
      <main id="main"${page.path.startsWith('reference') ? ' class="reference"' : ''}>${page.html}</main>
      ${outline && own.length > 1 && !page.path.startsWith('reference') ? `<nav class="pages outline" aria-label="On this page"><h2>On this page</h2><ul>${outline}</ul></nav>` : ''}
    </div>
  </body>
</html>
`;
}
