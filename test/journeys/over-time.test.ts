import { startEngine } from '../support/engine';
import { engine, share } from './on-one-engine/engine';
import './on-one-engine/history';
import './on-one-engine/recurring';

beforeAll(async () => {
  // Banks that stay silent are waited for by the clock; here nobody asks for how long.
  share(await startEngine({ CLOCK_WAIT_S: '1' }));
});

afterAll(() => engine.stop());
