import MarkdownIt from 'markdown-it';

/** Turns the project's Markdown into the HTML of the site, without styles or scripts in it. */

interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  getLanguage(name: string): object | undefined;
  highlight(text: string, options: { language: string }): { value: string };
}

// Its types would bring those of browsers to all of the project.
const hljs = require('highlight.js/lib/core') as Highlighter;
hljs.registerLanguage('sh', require('highlight.js/lib/languages/bash'));
hljs.registerLanguage('python', require('highlight.js/lib/languages/python'));
hljs.registerLanguage('json', require('highlight.js/lib/languages/json'));
for (const name of ['ts', 'js'])
  hljs.registerLanguage(name, require('highlight.js/lib/languages/typescript'));

export interface Rendered {
  html: string;
  headings: Heading[];
}

export interface Heading {
  /** `TERM` for a row of a table, or an item of the glossary, that explains a word. */
  level: number;
  id: string;
  title: string;
  /** Text below the heading, and its examples, for the search. */
  text: string;
  code: string;
}

const TERM = 7;

/** Findings of the rules below about the page at hand. */
interface Environment {
  /** The address of a link's target; undefined where the site has no such page. */
  addressOf: (target: string) => string | undefined;
  headings: Heading[];
}

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A block of code. Keyboards scroll what has a tab index. */
export function codeBlock(text: string, language: string): string {
  const code = hljs.getLanguage(language) ? hljs.highlight(text, { language }).value : escaped(text);
  return `<pre tabindex="0"><code>${code}</code></pre>`;
}

/** As GitHub makes anchors, which the pages link to. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const markdown = new MarkdownIt({ html: true });
const { rules } = markdown.renderer;

rules['fence'] = (tokens, at) => codeBlock(tokens[at]?.content ?? '', tokens[at]?.info.trim() ?? '');
rules['table_open'] = () => '<div class="scrolled" tabindex="0" role="region" aria-label="Table"><table>';
rules['table_close'] = () => '</table></div>';
rules['heading_open'] = (tokens, at) => `<${tokens[at]?.tag} id="${tokens[at]?.attrGet('id')}">`;
// Pictures that the pages write as HTML.
rules['html_block'] = (tokens, at, _options, env) =>
  (tokens[at]?.content ?? '').replaceAll(
    /(src|srcset)="([^"]+)"/g,
    (_, name: string, file: string) => `${name}="${(env as unknown as Environment).addressOf(file) ?? file}"`,
  );

markdown.core.ruler.push('site', ({ tokens, env }) => {
  const { addressOf, headings } = env as unknown as Environment;
  let term: Heading | undefined;
  for (const [at, token] of tokens.entries()) {
    // The policy of the pages forbids styles in elements.
    const align = /text-align:(\w+)/.exec(String(token.attrGet('style') ?? ''))?.[1];
    if (token.attrs) token.attrs = token.attrs.filter(([name]) => name !== 'style');
    if (align) token.attrSet('class', align === 'right' ? 'number' : align);
    const inline = tokens[at + 1];
    if (token.type === 'heading_open' && inline) {
      const title = textOf(inline.children ?? []);
      const id = anchorOf(title);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), id, title, text: '', code: '' });
    } else if (token.type === 'inline' || token.type === 'fence') {
      const last = headings.findLast(({ level }) => level < TERM);
      const [kind, text] = token.children
        ? (['text', textOf(token.children)] as const)
        : (['code', token.content] as const);
      if (last && tokens[at - 1]?.type !== 'heading_open') last[kind] += ` ${text}`;
      const begun = tokens[at - 2];
      const title = termOf(begun?.type ?? '', token.children ?? []);
      if (title !== undefined) {
        const own = `term-${anchorOf(title)}`;
        const id = headings.some((one) => one.id === own) ? `${own}-${headings.length}` : own;
        term = { level: TERM, id, title, text: '', code: '' };
        headings.push(term);
        begun?.attrSet('id', id);
      } else if (term && /^\d{3}$/.test(text)) term.title += ` (${text})`;
      if (term) term.text += ` ${text}`;
      link(token.children ?? [], addressOf);
    } else if (/^(?:tr|list_item|heading)_/.test(token.type)) term = undefined;
  }
});

/** A row explains the code in its first cell, an item of the glossary its bold word. */
function termOf(begun: string, tokens: Tokens): string | undefined {
  if (begun === 'tr_open' && tokens[0]?.type === 'code_inline') return textOf(tokens);
  const [, bold, word, , after] = tokens;
  const isExplained = bold?.type === 'strong_open' && after?.content.startsWith(':');
  return begun === 'list_item_open' && isExplained ? word?.content : undefined;
}

type Tokens = NonNullable<ReturnType<typeof markdown.parse>[number]['children']>;

const textOf = (tokens: Tokens): string =>
  tokens.map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');

/** Leads links to pages of the site. A link to anything else, as to a source file, is left out. */
function link(tokens: Tokens, addressOf: Environment['addressOf']): void {
  let isDead = false;
  for (const token of tokens) {
    const attribute = token.type === 'image' ? 'src' : 'href';
    if (token.type === 'link_open' || token.type === 'image') {
      const address = addressOf(String(token.attrGet(attribute)));
      isDead = address === undefined && token.type === 'link_open';
      if (address !== undefined) token.attrSet(attribute, address);
    }
    const ends = token.type === 'link_close';
    if (isDead && (token.type === 'link_open' || ends)) {
      token.type = 'text';
      token.content = '';
    }
    if (ends) isDead = false;
  }
}

export function render(text: string, addressOf: Environment['addressOf'] = (target) => target): Rendered {
  const headings: Heading[] = [];
  const html = markdown.render(text, { addressOf, headings } satisfies Environment);
  return { html, headings };
}
