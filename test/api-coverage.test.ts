import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COVERAGE_RECORD, documentedAnswers, readRecord } from './support/api-coverage';

test('each documented answer, and no other, was got by a test: `npm run coverage:api` records which', () => {
  const seen = readRecord(COVERAGE_RECORD);
  expect([...seen.keys()].toSorted()).toEqual(documentedAnswers().toSorted());

  const files = [...new Set(seen.values())].map((file) => join(__dirname, `${file}.test.ts`));
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
