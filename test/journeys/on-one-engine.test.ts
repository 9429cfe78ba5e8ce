import { startEngine } from '../support/engine';
import { engine, share } from './on-one-engine/engine';
import './on-one-engine/intent';
import './on-one-engine/transactions';
import './on-one-engine/customer-payment';
import './on-one-engine/merchant';
import './on-one-engine/device';
import './on-one-engine/customer-migration';

beforeAll(async () => {
  // Banks that stay silent are waited for by the clock; here nobody asks for how long.
  share(await startEngine({ CLOCK_WAIT_S: '1' }));
});

afterAll(() => engine.stop());
