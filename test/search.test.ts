import { buildSite } from '../site/build';
import { found, indexOf, type Entry } from '../site/browser/ranking';
import { routes } from '../src/api/app';
import { openApiDocument } from '../src/api/openapi/document';
import { readConfig } from '../src/settings/config';

/* The search of the documentation, over its pages as they are. */

let index: ReturnType<typeof indexOf>;
beforeAll(async () => {
  const document = openApiDocument(routes({ config: readConfig({}) }));
  const site = await buildSite(document, { script: 'docs.js', style: 'docs.css', icon: 'data:,' });
  index = indexOf(JSON.parse(String(site.get('search.json'))) as Entry[]);
});

/** Beyond `/docs/`. */
const answers = (words: string) => found(index, words).map(({ id }) => id.replace('/docs/', ''));
const pageOf = (id = '') => id.split('#')[0];

/** What somebody types, and the page that answers it. */
test.each([
  // A newcomer.
  ['sandbox', 'sandbox'],
  ['port in use', 'quickstart'],
  ['get a token', 'reference/authentication'],
  ['test declines', 'guides/testing'],
  ['lose a webhook', 'guides/testing'],
  ['month pass', 'guides/testing'],
  ['test clock', 'reference/sandbox'],
  ['lookupID', 'glossary'],
  ['typescript', 'client'],
  // An integrator.
  ['limits', 'concepts/agreement'],
  ['spending limits', 'concepts/agreement'],
  ['rate limit', 'api'],
  ['idempotency', 'api'],
  ['pagination', 'api'],
  ['401', 'errors'],
  ['403', 'errors'],
  ['404', 'errors'],
  ['409', 'errors'],
  ['429', 'errors'],
  ['503', 'errors'],
  ['customer never answers', 'concepts/charge'],
  ['charge twice', 'concepts/charge'],
  ['refund twice', 'concepts/charge'],
  ['how do I cancel', 'reference/recurring-billing'],
  ['monthly subscription', 'concepts/schedule'],
  ['what does past_due mean', 'guides/merchant'],
  ['decline reason', 'guides/merchant'],
  ['insufficient_funds', 'guides/merchant'],
  ['webhook signature', 'webhooks'],
  ['retry', 'webhooks'],
  ['duplicate webhooks', 'webhooks'],
  ['rotate secret', 'reference/webhook-settings'],
  // An operator, and who keeps the books.
  ['production', 'going-live'],
  ['backup', 'operations'],
  ['metrics', 'operations'],
  ['AssentIsDown', 'operations'],
  ['kubernetes', 'kubernetes'],
  ['delete customer data', 'retention'],
  ['camt', 'bank-files'],
  ['books verify', 'tamper-evidence'],
  ['unanswered exception', 'concepts/exception'],
])('"%s" finds first what answers it, in %s, and no decision before another page', (words, page) => {
  const all = answers(words);
  expect(pageOf(all[0])).toBe(page);
  const pages = all.filter((id) => !/^(?:decisions|schema)\b/.test(id));
  expect(all.slice(0, pages.length)).toEqual(pages);
});

test('an error’s code, and its status, lead to the row that explains it', () => {
  expect(answers('late_answer')[0]).toBe('errors#term-late_answer');
  expect(answers('401')[0]).toBe('errors#term-unauthenticated');
});
