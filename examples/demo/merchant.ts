import { runParty, setting } from './parties/main';
import { Receiver } from './parties/receiver';

/** The merchant's server as a process of its own: it hears how its intents and charges ended. */
void runParty(new Receiver(setting('WEBHOOK_SECRET')));
