import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';
import { analyse } from 'scslre';
import { webUrl } from '../src/api/http/request-fields';
import { idPattern } from '../src/api/http/example';

/*
 * Every regular expression of the product, by an analysis of the expression itself: there is no
 * character whose repetition makes its reading take longer than in proportion to the length of the
 * text, which is how callers hold an event loop. That holds whatever is sent, where a try holds for
 * the texts that somebody thought of.
 */

const ROOT = path.join(__dirname, '..');

/** Those that are made of parts: here is what comes of it. */
const COMPOSED: Record<string, RegExp[]> = {
  'src/domain/contact.ts': [new RegExp(String(webUrl(['http', 'https']).meta()?.['pattern']))],
  'src/api/http/response-fields.ts': [new RegExp(idPattern('transaction'))],
  'src/settings/kinds.ts': [/^\d{1,9}$/, /^\d{1,9}(\.\d{1,9})?$/],
};

type Node = { type?: unknown; pattern?: string; flags?: string; callee?: { value?: string } };

function* nodesOf(tree: unknown): Generator<Node, void, void> {
  if (typeof tree !== 'object' || tree === null) return;
  yield tree;
  for (const inner of Object.values(tree)) yield* nodesOf(inner);
}

const files = ['src', 'packages', 'site']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.join(folder, file),
    ),
  )
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
  .map((file) => {
    const tree = parseSync(readFileSync(path.join(ROOT, file), 'utf8'), { syntax: 'typescript' });
    return { file: file.replaceAll(path.sep, '/'), nodes: [...nodesOf(tree)] };
  });

/** The characters that it stumbles over. */
const stumbles = (expression: RegExp) =>
  analyse(expression).reports.map(({ type, character }) => `${type} on ${JSON.stringify(character.pick)}`);

it('no text that is sent makes a regular expression go through it again and again', () => {
  const expressions = files.flatMap(({ file, nodes }) =>
    nodes
      .filter(({ type }) => type === 'RegExpLiteral')
      .map(({ pattern = '', flags = '' }) => ({ file, expression: new RegExp(pattern, flags) })),
  );
  const composed = Object.entries(COMPOSED).flatMap(([file, made]) =>
    made.map((expression) => ({ file, expression })),
  );
  expect(expressions.length).toBeGreaterThan(50);
  const found = [...expressions, ...composed].flatMap(({ file, expression }) =>
    stumbles(expression).map((stumble) => `${file} ${String(expression)}: ${stumble}`),
  );
  expect(found).toEqual([]);
});

it('those that are made at run time are known', () => {
  const made = files.filter(({ nodes }) =>
    nodes.some(({ type, callee }) => type === 'NewExpression' && callee?.value === 'RegExp'),
  );
  expect(made.map(({ file }) => file).toSorted()).toEqual(Object.keys(COMPOSED).toSorted());
});

it.each([/\s+$/, /^(\w+)*!$/, /^ *;* *;* *$/])('the analysis finds fault with %s', (expression) => {
  expect(stumbles(expression)).not.toEqual([]);
});
