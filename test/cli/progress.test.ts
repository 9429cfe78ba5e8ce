import { createProgress } from '../../src/cli/output';

function terminal(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  return { progress: createProgress({ isTTY, write, ...(columns !== undefined && { columns }) }), written };
}

/** What is on the screen's line in the end: each carriage return begins it anew. */
function screen(written: readonly string[]): string {
  return written
    .join('')
    .split('\r')
    .reduce((line, text) => text + line.slice(text.length), '')
    .trimEnd();
}

describe('progress', () => {
  it('is one line that is written over, and is gone in the end', () => {
    const { progress, written } = terminal(true);
    progress.say('1000 charges compared');
    progress.say('done');
    expect(screen(written)).toBe('done');
    progress.end();
    expect(screen(written)).toBe('');
  });

  it.each([
    [0, 8, '[                    ]   0 % x'],
    [3, 8, '[#######             ]  37 % x'],
    [8, 8, '[####################] 100 % x'],
    // A file may have grown since it was measured, or be empty.
    [9, 8, '[####################] 100 % x'],
    [0, 0, '[####################] 100 % x'],
  ])('of %i of %i is a bar', (done, of, line) => {
    const { progress, written } = terminal(true);
    progress.part(done, of, 'x');
    expect(screen(written)).toBe(line);
  });

  it('has no escape sequence, whatever the terminal is and NO_COLOR says', () => {
    const { progress, written } = terminal(true);
    progress.say('half of it');
    progress.end();
    expect(written.join('')).toMatch(/^[\r\x20-\x7e]+$/);
  });

  it('stays within a narrow terminal, where a longer line would leave a trail', () => {
    const { progress, written } = terminal(true, 20);
    progress.say('a line of more than twenty characters');
    expect(screen(written)).toBe('a line of more than');
  });

  it('is not said beside --json, whose reader may take all that is on the screen for the answer', () => {
    const { progress, written } = terminal(true);
    progress.silence();
    progress.say('half of it');
    progress.end();
    expect(written).toEqual([]);
  });

  it('is not said to a program', () => {
    const { progress, written } = terminal(false);
    progress.say('half of it');
    progress.end();
    expect(written).toEqual([]);
  });
});
