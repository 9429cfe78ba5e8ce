import { CREDENTIALS_LIMIT_BYTES } from '../../src/api/http/body';
import type { Parties } from '../fuzz/cast';
import { COLONS, textOf } from './grammar';
import { vitals } from './process-watch';
import { ANSWER_WITHIN_MS, ask } from './visitor';

/*
 * JSON bodies of a name and colons alone, by anybody: they cost what other bodies of their length
 * cost, and meanwhile others get their tokens.
 */

const BODIES = 20;
/** Beyond what is read without a token, and within what is read with it. */
const LONG_BYTES = 40 * 1024;
const COST_MAX = 3;
/** Of the processor, for what a process does besides. */
const ALLOWED_S = 1;

export async function attackWithColons(
  apiUrl: string,
  metricsUrl: string,
  { public: anybody, bank }: Parties,
  say: (line: string) => void,
): Promise<string[]> {
  const findings: string[] = [];
  const expect = (wanted: number, status: number | string, what: string) => {
    if (status !== wanted) findings.push(`colons: ${what} got ${status}`);
  };
  const send = async (path: string, body: Buffer): Promise<number> => {
    const answer = await fetch(apiUrl + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: apiUrl },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    await answer.text();
    return answer.status;
  };
  /** Seconds of the processor that the process takes for many of it at once. */
  const costOf = async (path: string, body: Buffer): Promise<number> => {
    const before = await vitals(metricsUrl);
    const refused = Promise.all(Array.from({ length: BODIES }, () => send(path, body)));
    const others = Promise.all([
      ask(`${apiUrl}/healthz`, 'GET'),
      ask(`${apiUrl}/v1/oauth/token`, 'POST', undefined, grant),
    ]);
    for (const status of await refused) expect(400, status, `a body for ${path}`);
    for (const { status } of await others) expect(200, status, 'another client');
    const after = await vitals(metricsUrl);
    if (after.startedAt !== before.startedAt) findings.push('colons: the process ended');
    return after.cpuS - before.cpuS;
  };
  const [seed = {}] = anybody?.seeds ?? [];
  const grant = {
    grant_type: 'client_credentials',
    client_id: seed['cli'],
    client_secret: seed['client_secret'],
  };

  for (const path of ['/v1/oauth/token', '/console/session']) {
    const plainS = await costOf(path, Buffer.alloc(CREDENTIALS_LIMIT_BYTES, 'a'));
    const colonsS = await costOf(path, textOf(COLONS, CREDENTIALS_LIMIT_BYTES));
    say(
      `Colons: ${BODIES} bodies for ${path} took ${colonsS.toFixed(2)} s, as many others ${plainS.toFixed(2)} s`,
    );
    if (colonsS > COST_MAX * plainS + ALLOWED_S)
      findings.push(`colons: bodies for ${path} took ${colonsS.toFixed(2)} s of the processor`);
  }
  const long = textOf(COLONS, LONG_BYTES);
  expect(413, await send('/v1/oauth/token', long), 'a long body without a token');
  const { status } = await ask(`${apiUrl}/v1/webhooks/endpoint`, 'PUT', bank?.token, long.toString());
  expect(400, status, 'a long body with a token');
  expect(200, (await ask(`${apiUrl}/healthz`, 'GET')).status, 'another client');
  return findings;
}
