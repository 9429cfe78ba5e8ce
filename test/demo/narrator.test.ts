import { stripVTControlCharacters } from 'node:util';
import { Narrator, StoryError } from '../../examples/demo/narrator';

let printed: string[];

beforeEach(() => {
  printed = [];
  jest
    .spyOn(console, 'log')
    .mockImplementation((line: string) => void printed.push(stripVTControlCharacters(line)));
});

afterEach(() => jest.restoreAllMocks());

test('a step is numbered, and what it says is followed by a link to the workflow', async () => {
  const narrator = new Narrator('http://127.0.0.1:8233', 'default');

  await narrator.tell('First', () => Promise.resolve());
  const result = await narrator.tell('Second', (say) => {
    say('it goes well', 'intent/int_1');
    return Promise.resolve(7);
  });

  expect(result).toBe(7);
  expect(printed.join('\n')).toContain(' 2. Second\n    it goes well\n');
  expect(printed).toContain('    → http://127.0.0.1:8233/namespaces/default/workflows/intent%2Fint_1');
});

test('a step that does not end is a broken promise of its own', async () => {
  const narrator = new Narrator('http://127.0.0.1:8233', 'default');

  await expect(narrator.tell('Forever', () => new Promise(() => undefined), 20)).rejects.toThrow(
    new StoryError('step 1, "Forever", did not end within 0.02 s'),
  );
});
