import { play } from './play';
import { tellStory } from './story';

/** `npm run demo`: plays the main job. */
play(tellStory);
