import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { transformSync } from 'esbuild';
import type { Expression, Node, TaggedTemplateExpression } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, SignatureKind, TypeFlags, type Type } from 'typescript/unstable/sync';

/** A statement of the source, as Postgres gets it. */
export interface Statement {
  at: string;
  /** One for each value of the roles, tables and the like that decide about its text. */
  texts: string[];
  /** Members of its row type: `number`, `string[]`, …; `json` for all that JSON may be. */
  members: { name: string; optional: boolean; types: string[] }[];
}

const SRC = path.resolve('src');
/** Variants of a text that are prepared. */
const VARIANTS_MAX = 24;
/** Calls from which the text of a parameter is followed. */
const DEPTH_MAX = 5;

const api = new API({ cwd: process.cwd() });
const [project] = api.updateSnapshot({ openProjects: [path.resolve('tsconfig.json')] }).getProjects();
if (!project) throw new Error('tsconfig.json is not a project');
const { checker, program } = project;
const files = program
  .getSourceFileNames()
  .filter((name) => name.startsWith(SRC) && !name.includes('/console/'));

const all = (node: Node, found: Node[] = []): Node[] => {
  found.push(node);
  node.forEachChild((child) => void all(child, found));
  return found;
};
const nodesOf = new Map(files.map((name) => [name, all(program.getSourceFile(name) as Node)]));
const calls = new Map<string, { args: readonly Expression[] }[]>();
for (const node of [...nodesOf.values()].flat())
  if (is.isCallExpression(node) && is.isIdentifier(node.expression)) {
    const known = calls.get(node.expression.text) ?? [];
    calls.set(node.expression.text, [...known, { args: node.arguments }]);
  }

const scopes = new Map<
  string,
  { exports: Record<string, unknown>; run(code: string, given: object): unknown }
>();
/** Runs a module of the source, and lets code run among its declarations. */
function scopeOf(file: string) {
  const known = scopes.get(file);
  if (known) return known;
  const outside = createRequire(file);
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    loader: 'ts',
    format: 'cjs',
    target: 'node20',
  });
  const scope = { exports: {}, run: (): unknown => undefined };
  scopes.set(file, scope);
  const module = { exports: scope.exports };
  const inside = (name: string): unknown => {
    const other = `${path.resolve(path.dirname(file), name)}.ts`;
    return name.startsWith('.') && files.includes(other) ? scopeOf(other).exports : outside(name);
  };
  // oxlint-disable-next-line no-implied-eval
  const made = new Function('require', 'module', 'exports', `${code}\nreturn (code, given) => eval(code);`);
  scope.run = made(inside, module, module.exports) as typeof scope.run;
  scope.exports = module.exports;
  return scope;
}

const isFunction = (node: Node) =>
  is.isFunctionDeclaration(node) || is.isArrowFunction(node) || is.isFunctionExpression(node);

/** Where a function, or the whole program, declares a name that an expression uses. */
function declarationOf(node: Node, name: string): Node | undefined {
  for (let at: Node | undefined = node.parent; at && !is.isSourceFile(at); at = at.parent) {
    if (!isFunction(at)) continue;
    const found = all(at).find(
      (one) =>
        (is.isParameterDeclaration(one) || is.isVariableDeclaration(one)) &&
        all(one.name).some((part) => is.isIdentifier(part) && part.text === name),
    );
    if (found) return found;
  }
  return undefined;
}

/** Some values of a type: all literals of a union, and one of everything else. */
function samples(type: Type, depth = 0): unknown[] {
  const name = checker.typeToString(type);
  if (name === 'boolean') return [true, false];
  if (type.isUnionType()) return type.getTypes().flatMap((one) => samples(one, depth));
  if ('value' in type && typeof type.value === 'string') return [type.value];
  if (name === 'undefined' || depth > 3) return [undefined];
  if (name === 'string') return ['x'];
  if (name === 'number') return [1];
  if (name === 'Date') return [new Date(0)];
  if (checker.isArrayType(type)) {
    const [of] = checker.getTypeArguments(type as never);
    return [of ? samples(of, depth + 1).slice(0, 1) : []];
  }
  const members = checker.getPropertiesOfType(type).map((member) => {
    const of = checker.getTypeOfSymbol(member);
    return [member.name, of ? samples(of, depth + 1) : [undefined]] as const;
  });
  const base = Object.fromEntries(members.map(([key, values]) => [key, values[0]]));
  const varied = members.flatMap(([key, values]) =>
    values.slice(1).map((value) => ({ ...base, [key]: value })),
  );
  return [base, ...varied];
}

/** Values that expressions of one function have together: one list for each way to come to them. */
function valuesOf(expressions: readonly Node[], depth = 0): unknown[][] {
  const [first] = expressions;
  if (!first) return [[]];
  const inside = new Set(expressions.flatMap((one) => all(one)));
  const needed = new Set<Node>();
  const follow = (node: Node): void => {
    for (const one of all(node)) {
      const isMember = is.isPropertyAccessExpression(one.parent) && one.parent.name === one;
      const found = is.isIdentifier(one) && !isMember && declarationOf(one, one.text);
      if (!found || needed.has(found) || inside.has(found)) continue;
      needed.add(found);
      if (isPlain(found)) follow(found.initializer);
    }
  };
  expressions.forEach(follow);
  const ordered = [...needed].sort((a, b) => a.getStart() - b.getStart());
  const open = ordered.filter((one): one is Declared => !isPlain(one));
  const lines = ordered.map((one) =>
    isPlain(one)
      ? `const ${one.getText()};`
      : `const ${(one as Declared).name.getText()} = given.get(${one.pos});`,
  );
  const source = first.getSourceFile();
  const imports = source.statements.filter((one) => is.isImportDeclaration(one)).map((one) => one.getText());
  const wanted = `[${expressions.map((one) => one.getText()).join(', ')}]`;
  const body = `${imports.join('\n')}\ngiven.result = (() => { ${lines.join('\n')} return ${wanted}; })();`;
  const { code } = transformSync(body, { loader: 'ts', format: 'cjs', target: 'node20' });
  const functions = [...new Set(open.map((one) => one.parent))];
  const choices = functions.map((fn) =>
    givenTo(
      fn,
      open.filter((one) => one.parent === fn),
      depth,
    ),
  );
  let failed: unknown;
  const found = combined(choices).flatMap((chosen) => {
    const given = Object.assign(new Map(chosen.flat()), { result: [] as unknown[] });
    try {
      scopeOf(source.fileName).run(code, given);
      return [given.result];
    } catch (error) {
      failed = error;
      return [];
    }
  });
  if (found.length === 0) throw failed;
  return found;
}

type Declared = Node & { name: Node };
const isPlain = (node: Node): node is Declared & { initializer: Node } =>
  is.isVariableDeclaration(node) &&
  node.initializer !== undefined &&
  !all(node).some((one) => is.isAwaitExpression(one) || is.isTaggedTemplateExpression(one));

function combined<Value>(choices: readonly Value[][]): Value[][] {
  return choices.reduce<Value[][]>(
    (some, values) => some.flatMap((one) => values.map((value) => [...one, value])).slice(0, VARIANTS_MAX),
    [[]],
  );
}

/** Whether callers give text of a statement, or make it. */
const mayBeText = (type: Type) =>
  [type, ...checker.getPropertiesOfType(type).map((one) => checker.getTypeOfSymbol(one))].some(
    (one) =>
      one &&
      (checker.typeToString(one) === 'string' ||
        checker.getSignaturesOfType(one, SignatureKind.Call).length > 0),
  );

/** Values of parameters, by their places: those that callers give if they may be text, else samples. */
function givenTo(fn: Node, open: readonly Declared[], depth: number): [number, unknown][][] {
  const types = open.map(({ name }) => checker.getTypeAtLocation(name));
  const named = is.isFunctionDeclaration(fn)
    ? fn.name
    : is.isVariableDeclaration(fn.parent)
      ? fn.parent.name
      : undefined;
  const placed = (values: readonly unknown[]) =>
    open.map(({ pos }, at): [number, unknown] => [pos, values[at]]);
  const { parameters = [] } = fn as { parameters?: readonly Node[] };
  if (named && depth < DEPTH_MAX && types.some((type) => type && mayBeText(type))) {
    const found = (calls.get(named.getText()) ?? []).flatMap(({ args }) => {
      const passed = open.flatMap((one) => args[parameters.indexOf(one)] ?? []);
      if (passed.length < open.length) return [];
      try {
        return valuesOf(passed, depth + 1);
      } catch {
        return [];
      }
    });
    if (found.length > 0) return found.slice(0, VARIANTS_MAX).map(placed);
  }
  return combined(types.map((type) => (type ? samples(type) : [undefined]))).map(placed);
}

/** Expressions of a statement's parts: the text of `raw`, or those of a `sql` and what makes or keeps it. */
function partsOf(expression: Node): { texts: Node[]; build: (values: unknown[]) => string } {
  if (is.isCallExpression(expression) && expression.expression.getText() === 'raw') {
    const [text, bindings] = expression.arguments;
    const build = ([value]: unknown[]) =>
      bindings ? String(value).replaceAll(/(?<!:):([a-zA-Z]\w*)/g, '$?') : String(value);
    return { texts: text ? [text] : [], build };
  }
  if (is.isTaggedTemplateExpression(expression)) return partsOfTemplate(expression);
  const called = is.isCallExpression(expression) ? expression.expression.getText() : '';
  for (const node of nodesOf.get(expression.getSourceFile().fileName) ?? [])
    if (is.isVariableDeclaration(node) && node.name.getText() === called)
      if (node.initializer && is.isArrowFunction(node.initializer)) return partsOf(node.initializer.body);
  const found = is.isIdentifier(expression) && declarationOf(expression, expression.text);
  if (found && is.isVariableDeclaration(found) && found.initializer) return partsOf(found.initializer);
  throw new Error(`no text is known for ${expression.getText()}`);
}

function partsOfTemplate({ template }: TaggedTemplateExpression): ReturnType<typeof partsOf> {
  if (is.isNoSubstitutionTemplateLiteral(template)) return { texts: [], build: () => template.text };
  const spans = template.templateSpans.map(({ expression, literal }) => {
    const type = checker.getTypeAtLocation(expression);
    const isPart = type !== undefined && checker.typeToString(type) === 'Fragment';
    const part = isPart ? partsOf(expression) : { texts: [], build: () => '$?' };
    return { ...part, after: literal.text };
  });
  const build = (values: unknown[]) => {
    const rest = [...values];
    return (
      template.head.text +
      spans.map((one) => one.build(rest.splice(0, one.texts.length)) + one.after).join('')
    );
  };
  return { texts: spans.flatMap(({ texts }) => texts), build };
}

function textsOf(call: TaggedTemplateExpression): string[] {
  const { texts, build } = partsOfTemplate(call);
  return valuesOf(texts).map(build);
}

function kindsOf(type: Type): string[] {
  if (type.isUnionType()) return [...new Set(type.getTypes().flatMap(kindsOf))];
  const name = checker.typeToString(type);
  if (name === 'null' || name === 'undefined') return [];
  if (['any', 'unknown', 'Date'].includes(name)) return [name];
  if (type.flags & TypeFlags.TypeParameter) return ['any'];
  if (/^Buffer(<\w+>)?$/.test(name)) return ['Buffer'];
  const basic = {
    string: checker.getStringType(),
    number: checker.getNumberType(),
    bigint: checker.getBigIntType(),
    boolean: checker.getBooleanType(),
  };
  for (const [kind, target] of Object.entries(basic))
    if (checker.isTypeAssignableTo(type, target)) return [kind];
  if (!checker.isArrayType(type)) return ['json'];
  const [of] = checker.getTypeArguments(type as never);
  return of ? kindsOf(of).map((kind) => `${kind}[]`) : ['json'];
}

function membersOf(call: TaggedTemplateExpression): Statement['members'] {
  const signature = checker.getResolvedSignature(call);
  const promised = signature && checker.getReturnTypeOfSignature(signature);
  const [result] = promised ? checker.getTypeArguments(promised as never) : [];
  const isList = result !== undefined && checker.isArrayType(result);
  const row =
    result && (isList ? checker.getTypeArguments(result as never)[0] : checker.getNonNullableType(result));
  if (!row || checker.typeToString(row) === '{}') return [];
  return checker.getPropertiesOfType(row).map((member) => {
    const type = checker.getTypeOfSymbol(member);
    const optional = type !== undefined && checker.typeToString(type).includes('undefined');
    return { name: member.name, optional, types: type ? kindsOf(type) : ['unknown'] };
  });
}

function numbered(text: string): string {
  let n = 0;
  return text.replaceAll('$?', () => `$${(n += 1)}`);
}

const statements = files.flatMap((file) =>
  (nodesOf.get(file) ?? []).flatMap((node): (Statement & { why?: string })[] => {
    if (!is.isTaggedTemplateExpression(node) || !is.isPropertyAccessExpression(node.tag)) return [];
    if (!['rows', 'row', 'oneRow'].includes(node.tag.name.text)) return [];
    const line = node.getSourceFile().text.slice(0, node.getStart()).split('\n').length;
    const at = `${path.relative(process.cwd(), file)}:${line}`;
    try {
      return [{ at, texts: [...new Set(textsOf(node).map(numbered))], members: membersOf(node) }];
    } catch (error) {
      return [{ at, texts: [], members: [], why: String(error) }];
    }
  }),
);
process.stdout.write(JSON.stringify(statements));
api.close();
