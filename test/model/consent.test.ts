import { databaseOfFile } from '../support/database';
import { FAULTS, Model, nameOf, walk } from './model';
import { Played, shownOf } from './play';

/** `npm run model` holds the model to its invariants; here the engine is held to the model. */

const { db } = databaseOfFile();
const sound = new Model();
const ACTS = 40;
const TRACES = Array.from({ length: 16 }, (_, n) => n + 1);

test.each(TRACES)('the engine does what the model says, act by act, on trace %i', async (seed) => {
  const played = await Played.begin(db);
  const acts: string[] = [];
  for (const { act, state } of walk(sound, seed, ACTS)) {
    acts.push(nameOf(act));
    await played.play(act);
    expect({ acts, ...(await played.shown()) }).toEqual({ acts, ...shownOf(sound.shown(state)) });
  }
});

test.each(Object.keys(FAULTS))('these traces would tell an engine in which %s', (fault) => {
  const faulty = new Model(fault);
  const isTold = TRACES.some((seed) => {
    let other = faulty.start;
    return walk(sound, seed, ACTS).some(({ act, state }) => {
      const same = faulty.acts.find((one) => nameOf(one) === nameOf(act));
      if (!same) throw new Error(`no ${nameOf(act)}`);
      other = faulty.after(other, same);
      return JSON.stringify(shownOf(faulty.shown(other))) !== JSON.stringify(shownOf(sound.shown(state)));
    });
  });
  expect(isTold).toBe(true);
});
