import { SimulatedBank } from './simulated-bank';
import { runParty, setting } from './main';

void runParty(
  new SimulatedBank({
    apiUrl: setting('API_URL'),
    clientId: setting('CLIENT_ID'),
    clientSecret: setting('CLIENT_SECRET'),
    webhookSecret: setting('WEBHOOK_SECRET'),
  }),
);
