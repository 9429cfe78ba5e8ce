import './record-statements';
import { recordAnswer } from './answer-record';
import type * as Conformance from './conformance';

/** Paths of the API; what else tests fetch (parties, consoles) is none. */
const OF_THE_API = /^\/(v1\/|healthz$|readyz$|\.well-known\/|openapi\.json$)/;

const broken: string[] = [];
const bare = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const answer = await bare(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  // What tests of the simulated parties have in place of the API is held to nothing; the API sends
  // a policy with everything.
  if (!OF_THE_API.test(url.pathname) || !answer.headers.has('content-security-policy')) return answer;
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
  const text = await answer.clone().text();
  // Not imported: most test files get no answer of the API, and are spared loading all that its
  // document is made of.
  const { contractAt } = require('./conformance') as typeof Conformance;
  const contract = contractAt(url.origin);
  const seen = { method, url, status: answer.status, headers: answer.headers, text };
  recordAnswer(contract.operationOf(seen)?.operationId, answer.status, text);
  const problems = contract.problemsOf(seen);
  if (problems.length > 0) {
    const what = `${method} ${url.pathname} answered ${answer.status}, not as /openapi.json has it:\n- ${problems.join('\n- ')}\n${text.slice(0, 1000)}`;
    broken.push(what);
    throw new Error(what);
  }
  return answer;
};

// The caller may have caught the error, as a simulated bank does.
function requireNoneBroken(): void {
  const all = broken.splice(0);
  if (all.length > 0) throw new Error(all.join('\n\n'));
}

afterEach(requireNoneBroken);
// Tests that run beside each other have no hook of their own.
afterAll(requireNoneBroken);
