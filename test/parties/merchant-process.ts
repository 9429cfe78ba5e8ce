import { runParty, setting } from './main';
import { Receiver } from './receiver';

void runParty(new Receiver(setting('WEBHOOK_SECRET')));
