import { createAnswerTimeout, type AnswerTimeout } from '../../src/activities/answer-timeout';
import { eventually } from '../support/engine';

const silent = { warn: () => undefined };

/** Banks, in place of the rows. */
class Banks {
  readonly ended = new Set<string>();
  asked: string[][] = [];
  away = false;

  readonly endedOf = (ids: string[]): Promise<{ id: string }[]> => {
    this.asked.push(ids);
    if (this.away) return Promise.reject(new Error('Postgres is away'));
    return Promise.resolve(ids.filter((id) => this.ended.has(id)).map((id) => ({ id })));
  };
}

let banks: Banks;
let answerTimeout: AnswerTimeout;
/** No time passes for those who wait, however slow the machine is. */
const holdTime = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now());
afterEach(() => jest.restoreAllMocks());

beforeEach(() => {
  banks = new Banks();
  answerTimeout = createAnswerTimeout(80, banks.endedOf, silent);
});
afterEach(() => answerTimeout.stop());

/** Whether it has ended by now, and a promise for when it does. */
function waiting(ids: string[], bankId = 'bnk_1') {
  const waiter = { ended: false, end: Promise.resolve() };
  waiter.end = answerTimeout.waitForAnswers(ids.map((id) => ({ id, bankId }))).then(() => {
    waiter.ended = true;
  });
  return waiter;
}

const askedAgain = async () => {
  const before = banks.asked.length;
  await eventually(() => Promise.resolve(banks.asked.length > before + 1));
};

test('ends as soon as the last of the charges has ended', async () => {
  holdTime();
  const waiter = waiting(['brq_1', 'brq_2']);
  banks.ended.add('brq_1');
  await askedAgain();
  expect(waiter.ended).toBe(false);
  banks.ended.add('brq_2');
  await waiter.end;
});

test('has an end where the bank says nothing', async () => {
  await waiting(['brq_1']).end;
  expect(banks.ended.size).toBe(0);
});

test('asks for all that anybody waits for in one statement, and not at all when nobody does', async () => {
  holdTime();
  const waiters = [waiting(['brq_1']), waiting(['brq_2']), waiting(['brq_3', 'brq_4'])];
  await askedAgain();
  expect(banks.asked.at(-1)).toEqual(['brq_1', 'brq_2', 'brq_3', 'brq_4']);
  for (const id of ['brq_1', 'brq_2', 'brq_3', 'brq_4']) banks.ended.add(id);
  await Promise.all(waiters.map(({ end }) => end));
  const asked = banks.asked.length;
  await waiting([]).end;
  expect(banks.asked).toHaveLength(asked);
});

test('a bank that answers nothing leaves patience to the others', async () => {
  holdTime();
  const slow = Array.from({ length: 25 }, (_, i) => waiting([`brq_slow_${i}`], 'bnk_slow'));
  await askedAgain();
  expect(slow.filter(({ ended }) => ended)).toHaveLength(5);
  const quick = waiting(['brq_quick'], 'bnk_quick');
  await askedAgain();
  expect(quick.ended).toBe(false);
  banks.ended.add('brq_quick');
  await quick.end;
  expect(slow.filter(({ ended }) => ended)).toHaveLength(5);
});

test('who comes when as many wait as there is room for does not wait', async () => {
  holdTime();
  const many = Array.from({ length: 40 }, (_, i) => waiting([`brq_${i}`], `bnk_${i % 4}`));
  await waiting(['brq_late'], 'bnk_late').end;
  expect(many.some(({ ended }) => ended)).toBe(false);
});

test('nobody waits while answers cannot be read, and whoever comes later does again', async () => {
  holdTime();
  banks.away = true;
  await waiting(['brq_1']).end;
  banks.away = false;
  const later = waiting(['brq_2']);
  await askedAgain();
  expect(later.ended).toBe(false);
});

test('a stop ends all waiting at once, for good', async () => {
  holdTime();
  const waiter = waiting(['brq_1']);
  await askedAgain();
  expect(waiter.ended).toBe(false);
  answerTimeout.stop();
  await waiter.end;
  await waiting(['brq_2']).end;
});
