import { SimulatedBank } from './parties/bank';
import { runParty, setting } from './parties/main';

/**
 * The simulated bank as a process of its own. Settings: `PORT` (0 for any), `API_URL`, `CLIENT_ID`,
 * `CLIENT_SECRET`, `WEBHOOK_SECRET`; says `{"port": …}` on standard output once it listens.
 */
void runParty(
  new SimulatedBank({
    apiUrl: setting('API_URL'),
    clientId: setting('CLIENT_ID'),
    clientSecret: setting('CLIENT_SECRET'),
    webhookSecret: setting('WEBHOOK_SECRET'),
  }),
);
