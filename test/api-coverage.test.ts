import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answersOn, COVERAGE_PAGE, documentedAnswers } from './support/api-coverage';

test('docs/api-coverage.md has every documented answer and no other: `npm run coverage:api` writes it', () => {
  const seen = answersOn(readFileSync(COVERAGE_PAGE, 'utf8'));
  expect([...seen.keys()].toSorted()).toEqual(documentedAnswers().toSorted());

  const files = [...new Set(seen.values())].map((file) => join(__dirname, `${file}.test.ts`));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
