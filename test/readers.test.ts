import { faultsOf, READERS } from './hostile/readers';

/** The quick part of what `npm run hostile` tries with far more texts. */
const PART = 16;

test.each(READERS)('$name takes twice the time and memory for twice the text', async (reader) => {
  expect(await faultsOf(reader, PART)).toEqual([]);
});
