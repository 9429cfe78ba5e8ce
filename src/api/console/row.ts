import type { PersonRole } from '../../domain/person';
import type { Answer } from '../http/answer';
import type { Accepted, Call } from '../http/call';
import { ANYONE } from '../http/callers';
import type { Method, Route, RouteOptions } from '../http/route';

/** Makes a row of the console's own, which serves persons alone, and is in no document. */
export const consoleRow = <Body = undefined, Params = unknown>(
  method: Method,
  path: string,
  row: {
    id: string;
    takes: { person: PersonRole } & Pick<RouteOptions<Body, unknown, Params>, 'body' | 'params' | 'moves'>;
    handle: (call: Call<Body, unknown, Params>) => Promise<Answer | Accepted>;
  },
): Route => ({
  method,
  path,
  // A person has every scope.
  options: { ...ANYONE, scope: 'read', ...row.takes },
  operation: {
    id: row.id,
    tag: 'Console',
    summary: '',
    description: '',
    answers: { 200: { description: '' } },
  },
  handle: row.handle,
});
