import { inWords } from '../../src/cli/reconcile';

const started = {
  checked: 3,
  overdue: 0,
  withoutWorkflow: 1,
  restarted: 1,
  found: [],
  remaining: 0,
  problems: [],
};

test.each([
  [{ ok: true, left: 0 }, 'all is well now'],
  [{ ok: false, left: 2 }, 'all open work has its workflow'],
])('reconcile --fix that ends with %j says last that %s', ({ ok, left }, last) => {
  const rowless = { checked: 5, found: left, ended: 0 };
  expect(
    inWords({ ...started, ok, rowless }, true)
      .split('\n')
      .at(-1),
  ).toBe(`1 started again; ${last}.`);
});
