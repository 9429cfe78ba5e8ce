/** The engine cannot start or go on. The message has a remedy. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
