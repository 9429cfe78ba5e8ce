import { startEngine, type TestEngine } from '../../support/engine';

/** What ends or slows no process shares one engine: its starts would cost more than the stories. */
export let engine: TestEngine;

beforeAll(async () => {
  // Banks that stay silent are waited for by the clock; here nobody asks for how long.
  engine = await startEngine({ CLOCK_WAIT_S: '1' });
});

afterAll(() => engine.stop());
