import { holds, type Say } from '../demo/narrator';
import type { Operator } from '../../test/parties/operator';

const ID = /(?:bnk|brq|dlv|exc|mch|stm)_[0-9a-z]{26}/g;

/** The operator's terminal: prints each command and its output, with names in place of ids. */
export class Terminal {
  readonly printed: string[] = [];
  /** Ids, references and paths by their names. */
  private readonly named = new Map<string, string>();

  constructor(private readonly operator: Operator) {}

  name(id: string, name: string): void {
    this.named.set(name, id);
  }

  /** @param command with names, as it is printed */
  async run(say: Say, command: string, code = 0): Promise<void> {
    const words = command.match(/'[^']*'|\S+/g) ?? [];
    const run = await this.operator.run(
      words.map((word) => this.named.get(word) ?? word.replaceAll("'", '')),
    );
    holds(run.code === code, `${command} ended with ${run.code}: ${run.output}`);
    const text = `$ npx assent ${command}\n${asColumns(this.inNames(run.output)).trimEnd()}`;
    this.printed.push(text);
    for (const line of text.split('\n')) say(line);
  }

  /** Ids without a name are numbered as they come. */
  private inNames(text: string): string {
    for (const [id] of text.matchAll(ID)) {
      if ([...this.named.values()].includes(id)) continue;
      const nth = [...this.named.keys()].filter((name) => name.startsWith(id.slice(0, 4))).length + 1;
      this.name(id, id.slice(0, 4) + nth);
    }
    return [...this.named].reduce((all, [name, id]) => all.replaceAll(id, name), text);
  }
}

/** Tables without their lines, as wide as what is in them. */
function asColumns(text: string): string {
  return text.replaceAll(/(?:^[┌├└│].*\n?)+/gm, (table) => {
    const lines = table.split('\n').filter((line) => line.startsWith('│'));
    const rows = lines.map((line) => line.split('│').slice(1, -1));
    const cells = rows.map((row) => row.map((cell) => cell.trim()));
    const widths = cells[0]?.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0))) ?? [];
    const shown = cells.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
    return shown.map((line) => `${line.trimEnd()}\n`).join('');
  });
}
