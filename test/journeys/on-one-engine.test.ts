import { startEngine } from '../support/engine';
import { engine, share } from './on-one-engine/engine';
import './on-one-engine/history';
import './on-one-engine/recurring';
import './on-one-engine/intent';
import './on-one-engine/billing-request';
import './on-one-engine/bank-statement';
import './on-one-engine/waiting-webhooks';
import './on-one-engine/books';

beforeAll(async () => {
  share(
    await startEngine({
      // Banks that stay silent are waited for by the clock; here nobody asks for how long.
      CLOCK_WAIT_S: '1',
      // What settles on a day is late in the files of that day.
      BOOKING_DAYS: '0',
      // A webhook that fails in passing is soon tried again.
      WEBHOOK_RETRY_S: '1,1,2,4,8,16',
      WEBHOOK_TIMEOUT_S: '4',
    }),
  );
});

afterAll(() => engine.stop());
