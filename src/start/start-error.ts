import { OperatorError } from '../domain/failures';

/** The engine cannot start or go on. The message has a remedy. */
export class StartError extends OperatorError {
  override readonly name = 'StartError';
}
