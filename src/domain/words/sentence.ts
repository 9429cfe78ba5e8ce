/**
 * Who finds something answers with a code and its facts; who shows it makes a sentence of them, by
 * a table that has one for each code.
 */
type Sentences = Record<string, (facts: never) => string>;

/** What a sentence takes. */
type FactsOf<Sentence extends Sentences[string]> =
  Parameters<Sentence> extends [infer Facts] ? Facts : object;

/** What a table has sentences for. */
export type FaultOf<Table extends Sentences> = {
  [Code in keyof Table]: { wrong: Code } & FactsOf<Table[Code]>;
}[keyof Table];

export function worded<Table extends Sentences>(table: Table, fault: FaultOf<Table>): string {
  return (table[fault.wrong] as (facts: FaultOf<Table>) => string)(fault);
}
