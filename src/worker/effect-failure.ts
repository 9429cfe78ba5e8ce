import { isNativeError } from 'node:util/types';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { isUnavailable } from '../database/pool/availability';
import { KeyringError } from '../database/keyring/keyring';
import { describeError } from '../process/log';

/**
 * The failure that an effect leaves in a workflow's history: its meaning in words, and its kind and
 * code, as in the log. The error itself stays out: Postgres quotes statements and values in its
 * messages, and many people read histories.
 */
export const effectFailures: ActivityInboundCallsInterceptor = {
  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      // Cancellation, and failures made for the history, are the SDK's own language.
      if (error instanceof TemporalFailure) throw error;
      const described = describeError(error) as Record<string, string | undefined>;
      const { type, code, constraint, column, message, stack } = described;
      const said = quotesWhatItRead(error) ? type : (message ?? type);
      // The names are the schema's.
      const what = [
        said,
        constraint ?? column,
        code !== undefined && said?.includes(code) ? undefined : code,
      ];
      const failure = ApplicationFailure.create({
        ...(type !== undefined && { type }),
        message: `${inWords(error)} (${what.filter((part) => part !== undefined).join(' ')})`,
      });
      // The stack shows the place, without the error's own words.
      failure.stack = `${failure.name}: ${failure.message}\n${stack ?? ''}`;
      throw failure;
    }
  },
};

/** Meanings of Postgres's errors, by SQLSTATE. Its other transient codes mean that it is away. */
const ANSWERS: [codes: RegExp, words: string][] = [
  [/^57014$/, 'A statement took too long, and Postgres ended it'],
  [/^(55P03|40001|40P01)$/, 'Another transaction holds the row, or has changed it meanwhile'],
  [/^53/, 'Postgres has no connection, memory or disk left'],
  [/^25006$/, 'Postgres is read-only, as a server left behind by a failover is'],
  [/^(23|P0001)/, 'A rule of the database refused it'],
];

function inWords(error: unknown): string {
  const code = isNativeError(error) && 'code' in error ? String(error.code) : '';
  const answer = ANSWERS.find(([codes]) => codes.test(code));
  if (answer) return answer[1];
  if (isUnavailable(error)) return 'Postgres cannot be reached, or does not answer';
  if (error instanceof KeyringError) return 'The keyring cannot decrypt a stored value';
  if (error instanceof ServiceError || isGrpcServiceError(error))
    return 'Temporal does not answer, or refuses what it is asked for';
  return 'Something unexpected: the worker’s log says where';
}

/** Errors of a parser quote some of the text that could not be read. */
function quotesWhatItRead(error: unknown): boolean {
  return isNativeError(error) && (error.name === 'SyntaxError' || error.name === 'RangeError');
}
