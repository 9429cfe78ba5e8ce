import { runParty, setting } from './parties/main';
import { Receiver } from './parties/receiver';

void runParty(new Receiver(setting('WEBHOOK_SECRET')));
