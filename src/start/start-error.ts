/** Why the engine cannot start or go on, in words that say what to do about it. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
