/**
 * Sentences by fault code. A check returns a code with its facts, and the code that shows it makes
 * the sentence from this table.
 */
type Sentences = Record<string, (facts: never) => string>;

type FactsOf<Sentence extends Sentences[string]> =
  Parameters<Sentence> extends [infer Facts] ? Facts : object;

export type FaultOf<Table extends Sentences> = {
  [Code in keyof Table]: { wrong: Code } & FactsOf<Table[Code]>;
}[keyof Table];

export function worded<Table extends Sentences>(table: Table, fault: FaultOf<Table>): string {
  return (table[fault.wrong] as (facts: FaultOf<Table>) => string)(fault);
}
