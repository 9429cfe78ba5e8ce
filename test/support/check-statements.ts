import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { types } from 'pg';
import type { Node, TaggedTemplateExpression } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, TypeFlags, type Type } from 'typescript/unstable/sync';
import type { RunStatement } from './record-statements';

/*
 * Compares each statement of the source with what Postgres returned for it in a run of the tests: a
 * column that a row type names must have come back, with a type that pg makes that of.
 */

const { builtins } = types;
const [folder = '', run = 'all'] = process.argv.slice(2);

/** Types of values by the types of Postgres; others are text. */
const KINDS = new Map<number, string[]>([
  [builtins.BOOL, ['boolean']],
  [builtins.INT2, ['number']],
  [builtins.INT4, ['number']],
  [builtins.FLOAT8, ['number']],
  [builtins.INT8, ['bigint']],
  [builtins.NUMERIC, ['bigint']],
  [builtins.BYTEA, ['Buffer']],
  // An infinite moment is a number.
  [builtins.TIMESTAMPTZ, ['Date', 'number']],
  [builtins.DATE, ['Date']],
]);
const JSONS: number[] = [builtins.JSON, builtins.JSONB];
/** Types of elements, by the type of their array. */
const ARRAYS = new Map([
  [1000, builtins.BOOL],
  [1005, builtins.INT2],
  [1007, builtins.INT4],
  [1016, builtins.INT8],
  [1001, builtins.BYTEA],
  [1185, builtins.TIMESTAMPTZ],
  [1182, builtins.DATE],
  [1009, builtins.TEXT],
]);

const api = new API({ cwd: process.cwd() });
const [project] = api.updateSnapshot({ openProjects: [path.resolve('tsconfig.json')] }).getProjects();
if (!project) throw new Error('tsconfig.json is not a project');
const { checker, program } = project;

/** Whether pg makes a value of this type of what Postgres returns. */
function fits(type: Type, oid: number): boolean {
  if (type.isUnionType()) return type.getTypes().every((one) => fits(one, oid));
  const name = checker.typeToString(type);
  if (['null', 'undefined', 'any', 'unknown'].includes(name) || type.flags & TypeFlags.TypeParameter)
    return true;
  if (JSONS.includes(oid)) return name !== 'bigint' && name !== 'Date';
  const element = ARRAYS.get(oid);
  if (checker.isArrayType(type)) {
    const [of] = checker.getTypeArguments(type as never);
    return element !== undefined && of !== undefined && fits(of, element);
  }
  if (element !== undefined) return false;
  const kinds = KINDS.get(oid) ?? ['string'];
  if (/^Buffer(<\w+>)?$/.test(name)) return kinds.includes('Buffer');
  if (name === 'Date') return kinds.includes('Date');
  const basic = {
    string: checker.getStringType(),
    number: checker.getNumberType(),
    bigint: checker.getBigIntType(),
    boolean: checker.getBooleanType(),
  };
  return Object.entries(basic).some(
    ([kind, target]) => kinds.includes(kind) && checker.isTypeAssignableTo(type, target),
  );
}

const mayBeNull = (type: Type): boolean =>
  type.isUnionType()
    ? type.getTypes().some(mayBeNull)
    : ['null', 'undefined', 'any', 'unknown'].includes(checker.typeToString(type)) ||
      (type.flags & TypeFlags.TypeParameter) !== 0;

/** Faults of a statement's row type, for the columns that came back. */
function faults(call: TaggedTemplateExpression, columns: RunStatement['columns']): string[] {
  const signature = checker.getResolvedSignature(call);
  const promised = signature && checker.getReturnTypeOfSignature(signature);
  const [result] = promised ? checker.getTypeArguments(promised as never) : [];
  if (!result) return [];
  const row = checker.isArrayType(result)
    ? checker.getTypeArguments(result as never)[0]
    : checker.getNonNullableType(result);
  if (!row || checker.typeToString(row) === '{}' || row.flags & TypeFlags.TypeParameter) return [];
  const byName = new Map(
    columns.map((column) => [
      column.name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      column,
    ]),
  );
  return checker.getPropertiesOfType(row).flatMap((member) => {
    const type = checker.getTypeOfSymbol(member);
    const column = byName.get(member.name);
    if (!type) return [];
    if (column === undefined)
      return checker.typeToString(type).includes('undefined') ? [] : [`no column for ${member.name}`];
    const isWrong = !fits(type, column.oid) || (column.hasNull && !mayBeNull(type));
    const was = `${member.name} is ${checker.typeToString(type)}, its column has type ${column.oid}`;
    return isWrong ? [column.hasNull ? `${was}, and null` : was] : [];
  });
}

const ran = new Map<string, RunStatement['columns'][]>();
for (const name of readdirSync(folder)) {
  const { file, texts, columns } = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as RunStatement;
  const key = JSON.stringify([file, ...texts]);
  ran.set(key, [...(ran.get(key) ?? []), columns]);
}

const called: { at: string; key: string; call: TaggedTemplateExpression }[] = [];
for (const name of program.getSourceFileNames()) {
  const file = path.relative(process.cwd(), name);
  const source = file.startsWith('src/') && program.getSourceFile(name);
  const visit = (node: Node): void => {
    node.forEachChild(visit);
    if (!is.isTaggedTemplateExpression(node) || !is.isPropertyAccessExpression(node.tag)) return;
    if (!['rows', 'row', 'oneRow'].includes(node.tag.name.text)) return;
    const { template } = node;
    const texts = is.isNoSubstitutionTemplateLiteral(template)
      ? [template.text]
      : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)];
    const line = node.getSourceFile().text.slice(0, node.getStart()).split('\n').length;
    called.push({ at: `${file}:${line}`, key: JSON.stringify([file, ...texts]), call: node });
  };
  if (source) visit(source);
}

const wrong = called.flatMap(({ at, key, call }) => {
  const all = ran.get(key);
  if (!all) return run === 'all' ? [`${at}: no test runs this statement`] : [];
  const found = all.map((columns) => faults(call, columns));
  // Statements whose texts are the same cannot be told apart.
  const shared = called.filter((other) => other.key === key).length > 1;
  if (shared && found.some((some) => some.length === 0)) return [];
  return [...new Set(found.flat())].map((fault) => `${at}: ${fault}`);
});
api.close();
if (wrong.length > 0) {
  process.stderr.write(`Statements that are not as their row types say:\n${wrong.join('\n')}\n`);
  process.exitCode = 1;
}
