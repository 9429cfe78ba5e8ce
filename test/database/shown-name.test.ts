import MarkdownIt from 'markdown-it';
import { enqueueStarts } from '../../src/database/outbox';
import { shownPart } from '../../src/database/shown-name';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { raw } from '../../src/database/pool/statement';

/** Temporal's UI reads titles, summaries and details of workflows as Markdown. */

const test = databaseOfFile();
const markdown = new MarkdownIt({ html: true, linkify: true });
// A dialect that makes a link of each domain would make one of many companies' names.
markdown.linkify.set({ fuzzyLink: false });

const shown = async (name: string) =>
  (
    await test.db.row<{ shown: string }>`
      SELECT ${raw(shownPart('name'))} AS shown FROM CAST(${name} AS text) AS name`
  )?.shown ?? '';

/** GitHub's dialect looks for links in the text that is left once all else is read. */
const LINK = /https?:\/\/[-.\w]+|www\.[-.\w]+|[-.\w+]+@[-\w]+/i;

it.each([
  '[Pay here](https://evil.example)',
  '![](https://evil.example/x.png)',
  '<img src=//evil.example/x>',
  '<https://evil.example>',
  'https://evil.example',
  'HTTPS\\://evil.example',
  'www.evil.example',
  'WWW.evil.example',
  'pay@evil.example',
  'mailto:pay@evil.example',
  'https&colon;&sol;&sol;evil.example',
  'www&#46;evil.example',
  'pay&#x40;evil.example',
  '[a]: https://evil.example',
  '`code` and ~~gone~~',
  '**Paid** by __us__ and *them*',
  '\\*Paid\\* \\[x](y)',
  '# Heading',
  '- item',
  '+ item',
  '* item',
  '12. item',
  '3) item',
  '> quote',
  '---',
  '===',
  '| a | b |',
])('the name %s shows as it is, and does nothing', async (name) => {
  for (const text of [await shown(name), `The bank\n${await shown(name)}`]) {
    const html = markdown.render(text).trim();
    const [, inner = ''] = /^<p>([^<]*)<\/p>$/.exec(html) ?? [];
    const read = inner.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
    expect(read.replaceAll('\u200b', '').replace('The bank\n', '')).toBe(name);
    expect(read).not.toMatch(LINK);
  }
});

it.each(['Ada’s Shoes & Sons, Ltd.', 'Coca-Cola 7-Eleven', 'Büro 24/7 (Ikeja)', 'Café №1!'])(
  'an ordinary name stays as it is: %s',
  async (name) => {
    expect(await shown(name)).toBe(name);
  },
);

it('a name is one line of fifty characters', async () => {
  expect(await shown('a\nb\r\u0085c')).toBe('a b  c');
  expect(Buffer.byteLength(await shown('@'.repeat(200)))).toBe(200);
});

it('a workflow’s title has no link of a merchant’s making', async () => {
  await asSchemaLogin(
    test.url,
    `INSERT INTO entities (id, type, name) VALUES ('mch_1', 'merchant', '[Refund](http://evil.example)')`,
  );
  const attributes = { status: 'pending', merchantId: 'mch_1' };
  await enqueueStarts(test.db, [
    { workflowId: 'billing-batch/bat_1', attributes, summary: 'mch_1 charges NGN 1' },
  ]);
  const title = `SELECT start->>'summary' AS title FROM outbox`;
  const { title: text = '' } = (await test.db.row<{ title: string }>`${raw(title)}`) ?? {};
  expect(markdown.render(text).trim()).toBe('<p>[Refund](http\u200b://evil.example) charges NGN 1</p>');
});
