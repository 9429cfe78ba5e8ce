import { readFileSync } from 'node:fs';
import path from 'node:path';
import { analyzeModules, newIdGenerator, type QuintDef, type QuintEx } from '@informalsystems/quint';
import { zerog } from '@informalsystems/quint/dist/src/idGenerator';
import { newRng } from '@informalsystems/quint/dist/src/rng';
import { parse } from '@informalsystems/quint/dist/src/parsing/quintParserFrontend';
import { buildDef, Builder } from '@informalsystems/quint/dist/src/runtime/impl/builder';
import { Context } from '@informalsystems/quint/dist/src/runtime/impl/Context';
import type { RuntimeValue } from '@informalsystems/quint/dist/src/runtime/impl/runtimeValue';
import { newTraceRecorder } from '@informalsystems/quint/dist/src/runtime/trace';
import { Random } from '../storm/random';

/**
 * The model of consent, run by Quint's own evaluator. `quint run` draws acts at random; here a
 * caller chooses them, and can try each. Quint's package exports no evaluator, so its files are
 * named: its version is exact.
 */

/** A value of the model as plain data: a variant is `{ tag, value }`, a set an array. */
type Plain = string | number | boolean | Plain[] | { [field: string]: Plain };

export interface Limits {
  perCharge: number;
  daily: number;
  total: number;
  countDaily: number;
  countTotal: number;
  validFrom: number;
  validUntil: number;
}

export type Act = { given: RuntimeValue } & (
  | { tag: 'Approve' | 'Change'; value: Limits }
  | { tag: 'Pause' | 'Bill'; value: number }
  | { tag: 'Answer'; value: boolean }
  | { tag: 'Suspend' | 'Deny' | 'Resume' | 'Tick' | 'Work'; value: [] }
);

/** The members that the engine shows as well. */
export interface State {
  day: number;
  spentOn: number;
  spentDaily: number;
  countDaily: number;
  spentTotal: number;
  countTotal: number;
  schedule: string;
  nextN: number;
  open: { n: number; retryOn: number };
  skipped: number[];
  charges: { amount: number; n: number; status: string; limit: string }[];
  said: string;
}

/** Numbers of the model's text. */
export const NEVER = 99;
export const EVERY = 2;
export const SCHEDULED = 2;

/** Faults that the model's text can seed, each with the part of `npm run model` that finds it. */
export const FAULTS: Record<string, string> = {
  'only limited sums are kept': 'limits',
  'a decline gives nothing back': 'limits',
  'a decline gives back today': 'limits',
  'a decline gives back to later terms': 'limits',
  'other limits restart the total': 'limits',
  'the end is in the span': 'span',
  'an approval ends a pause': 'pause',
  'new limits end the span of a pause': 'pause',
  'a pause that ended leaves no span': 'pause',
  'a worker looks at the present alone': 'pause',
  'a worker dies before it notes the attempt': 'decision',
  'a billing does not wait for the one before': 'decision',
  'a denial leaves the schedule': 'decision',
};

const FILE = path.join(__dirname, 'consent.qnt');

/** Pure definitions alone are run, which draw nothing. */
const NO_CHANCE = newRng(0n);

export class Model {
  readonly start: RuntimeValue;
  readonly acts: readonly Act[];
  private readonly definitions: Map<string, QuintDef>;
  private readonly builder: Builder;
  private readonly context: Context;

  /** @param fault of those that the model's text names */
  constructor(fault = 'none') {
    const text = readFileSync(FILE, 'utf8').replace('FAULT = "none"', `FAULT = "${fault}"`);
    const place = { normalizedPath: FILE, toSourceName: () => FILE };
    const { modules, table, errors } = parse(newIdGenerator(), FILE, place, text);
    const [mistyped] = analyzeModules(table, modules);
    const wrong = [...errors, ...mistyped];
    if (wrong.length > 0) throw new Error(wrong.map(({ message }) => message).join('\n'));
    const defined = modules.flatMap(({ declarations }) => declarations).filter((one) => one.kind === 'def');
    this.definitions = new Map(defined.map((one) => [one.name, one]));
    this.builder = new Builder(table, false);
    const recorder = newTraceRecorder(0, NO_CHANCE);
    this.context = new Context(recorder, (bound) => NO_CHANCE.next(bound), this.builder.varStorage);
    this.start = this.value('START');
    this.acts = [...this.value('ACTS').toSet()].map(
      (value) => ({ ...(plain(value) as Omit<Act, 'given'>), given: value }) as Act,
    );
  }

  isPossible = (state: RuntimeValue, act: Act) => this.apply('isPossible', state, act.given).toBool();
  after = (state: RuntimeValue, act: Act) => this.apply('after', state, act.given);
  unsound = (state: RuntimeValue) => plain(this.apply('unsound', state)) as string[];
  /** The state, and two things that follow from it. */
  shown = (state: RuntimeValue) => ({
    ...(plain(state) as unknown as State),
    chargeable: plain(this.apply('chargeable', state)) as number,
    shown: plain(this.apply('shown', state)) as string,
  });

  private value(name: string): RuntimeValue {
    const definition = this.definitions.get(name);
    if (!definition) throw new Error(`the model has no ${name}`);
    return buildDef(this.builder, definition)(this.context).unwrap();
  }

  private readonly arrows = new Map<string, ReturnType<RuntimeValue['toArrow']>>();

  private apply(name: string, ...given: RuntimeValue[]): RuntimeValue {
    const arrow = this.arrows.get(name) ?? this.value(name).toArrow();
    this.arrows.set(name, arrow);
    return arrow(this.context, given).unwrap();
  }
}

const plain = (value: RuntimeValue): Plain => plainOf(value.toQuintEx(zerog));

function plainOf(ex: QuintEx): Plain {
  if (ex.kind === 'int') return Number(ex.value);
  if (ex.kind === 'str' || ex.kind === 'bool') return ex.value;
  if (ex.kind !== 'app') throw new Error(`no value: ${ex.kind}`);
  const parts = ex.args.map(plainOf);
  if (ex.opcode === 'variant') return { tag: parts[0] ?? '', value: parts[1] ?? [] };
  if (ex.opcode !== 'Rec') return parts;
  return Object.fromEntries(
    parts.flatMap((name, i) => (typeof name === 'string' && i % 2 === 0 ? [[name, parts[i + 1] ?? '']] : [])),
  );
}

/** `Bill 1`, `Change daily 3 total 5`; of limits the members that are set. */
export function nameOf({ tag, value }: Act): string {
  if (Array.isArray(value)) return tag;
  if (typeof value !== 'object') return `${tag} ${value}`;
  const set = Object.entries(value).filter(([name, one]) => one !== (name === 'validFrom' ? 0 : NEVER));
  return [tag, ...set.map((one) => one.join(' ')).toSorted()].join(' ');
}

export interface Found {
  acts: Act[];
  unsound: string[];
}

/**
 * Tries every sequence of up to so many acts. Sequences that lead to one state are one.
 *
 * @returns the shortest after which an invariant fails, if there is one
 */
export function search(model: Model, acts: readonly Act[], depth: number): { states: number; found?: Found } {
  type Reached = { state: RuntimeValue; by?: { act: Act; from: Reached } };
  const way = ({ by }: Reached): Act[] => (by ? [...way(by.from), by.act] : []);
  const seen = new Set([JSON.stringify(plain(model.start))]);
  let latest: Reached[] = [{ state: model.start }];
  for (let n = 0; n < depth; n++) {
    const next: Reached[] = [];
    for (const from of latest) {
      for (const act of acts) {
        if (!model.isPossible(from.state, act)) continue;
        const state = model.after(from.state, act);
        const key = JSON.stringify(plain(state));
        if (seen.has(key)) continue;
        seen.add(key);
        const reached = { state, by: { act, from } };
        const unsound = model.unsound(state);
        if (unsound.length > 0) return { states: seen.size, found: { acts: way(reached), unsound } };
        next.push(reached);
      }
    }
    latest = next;
  }
  return { states: seen.size };
}

/** A denial ends most of what can happen, and so is rare. */
const WEIGHTS: Record<Act['tag'], number> = {
  Tick: 3,
  Work: 4,
  Answer: 4,
  Bill: 3,
  Change: 2,
  Approve: 1,
  Pause: 1,
  Resume: 1,
  Suspend: 0.5,
  Deny: 0.2,
};

/** Acts one after the other, drawn by a seed. */
export function walk(model: Model, seed: number, length: number): { act: Act; state: RuntimeValue }[] {
  const random = new Random(seed);
  const steps: { act: Act; state: RuntimeValue }[] = [];
  for (let n = 0; n < length; n++) {
    const tag = random.weighted(WEIGHTS);
    const state = steps.at(-1)?.state ?? model.start;
    const possible = model.acts.filter((act) => act.tag === tag && model.isPossible(state, act));
    if (possible.length === 0) continue;
    const act = random.one(possible);
    steps.push({ act, state: model.after(state, act) });
  }
  return steps;
}
