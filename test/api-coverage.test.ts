import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answersOn, COVERAGE_PAGE, coveragePage, documentedAnswers } from './support/api-coverage';

test('docs/api-coverage.md has every documented answer and no other: `npm run coverage:api` writes it', () => {
  const page = readFileSync(COVERAGE_PAGE, 'utf8');
  const seen = answersOn(page);
  expect([...seen.keys()].toSorted()).toEqual(documentedAnswers().toSorted());
  expect(unaligned(page)).toBe(unaligned(coveragePage(seen)));

  const files = [...new Set(seen.values())].map((file) => join(__dirname, `${file}.test.ts`));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

/** Without what prettier does to tables and to long lines. */
const unaligned = (page: string) => page.trim().replaceAll(/\s+/g, ' ').replaceAll(/-{3,}/g, '---');
