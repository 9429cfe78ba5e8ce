import { SimulatedBank } from './parties/bank';
import { runParty, setting } from './parties/main';

void runParty(
  new SimulatedBank({
    apiUrl: setting('API_URL'),
    clientId: setting('CLIENT_ID'),
    clientSecret: setting('CLIENT_SECRET'),
    webhookSecret: setting('WEBHOOK_SECRET'),
  }),
);
