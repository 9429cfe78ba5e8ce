import { startEngine, type TestEngine } from '../../support/engine';

/**
 * Stories that end or slow no process share the engine of their test file: its starts would cost
 * more than the stories.
 */
export let engine: TestEngine;

beforeAll(async () => {
  engine = await startEngine({
    // Banks that stay silent are waited for by the clock; here nobody asks for how long.
    CLOCK_WAIT_S: '1',
    // A booking that is not in the files of its settlement day is late.
    BOOKING_DAYS: '0',
    // A webhook that fails in passing is soon tried again.
    WEBHOOK_RETRY_S: '1,1,2,4,8,16',
    WEBHOOK_TIMEOUT_S: '4',
  });
});

afterAll(() => engine.stop());
