import { readFileSync } from 'node:fs';
import { holds } from '../demo/narrator';

/** Days and moments go by the day of the run, names by the login, widths by the contents. */
const comparable = (line: string) =>
  line
    .replaceAll(/\d{4}-\d\d(-\d\d)?(T[\d:.]+Z)?/g, '#')
    .replaceAll(/operator:\w+/g, 'operator:#')
    .replaceAll(/\s+/g, ' ')
    .trim();

/**
 * The blocks of output on the page have lines of what was printed, in the order of printing.
 *
 * @throws StoryError naming the first line that was not printed
 */
export function comparePage(page: string, printed: readonly string[]): void {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```console\n([^]*?)^```$/gm);
  const shown = [...blocks].flatMap(([, text = '']) => text.split('\n').map(comparable));
  const found = printed.flatMap((text) => text.split('\n')).map(comparable);
  holds(shown.length > 0, `${page} shows no output`);
  let at = 0;
  for (const line of shown) {
    if (line === '') continue;
    const next = found.indexOf(line, at);
    holds(next >= 0, `${page} shows a line that is not printed, or not there: ${line}`);
    at = next + 1;
  }
}
