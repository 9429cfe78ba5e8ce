import { runParty, setting } from './parties/main';
import { Receiver } from './parties/receiver';

/**
 * The merchant's own server as a process of its own: it hears how its intents and charges ended.
 * Settings: `PORT` (0 for any), `WEBHOOK_SECRET`; says `{"port": …}` on standard output once it
 * listens.
 */
void runParty(new Receiver(setting('WEBHOOK_SECRET')));
