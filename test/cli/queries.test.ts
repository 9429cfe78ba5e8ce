import { runAssent } from '../support/cli';

// The database is not used, but another than that of `npm start` here.
const environment = {
  ASSENT_MODE: 'sandbox',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  TEMPORAL_NAMESPACE: 'payments',
};

it('links to lists of the Temporal UI that it is given', async () => {
  const words = ['queries', '--ui', 'https://temporal.example.com/', '--json'];
  const { out } = await runAssent(words, environment);
  const link = new URL((JSON.parse(out) as Record<string, string>)['past due'] ?? '');
  expect(link.origin + link.pathname).toBe('https://temporal.example.com/namespaces/payments/workflows');
  expect(link.searchParams.get('query')).toBe(
    'ExecutionStatus = "Running" AND WorkflowType = "recurring" AND AssentStatus = "past_due"',
  );
});

it('refuses an address that no browser opens', async () => {
  const { code, err } = await runAssent(['queries', '--ui', 'temporal.example.com'], environment);
  expect([code, err]).toEqual([1, expect.stringContaining('--ui is no address')]);
});

it('asks for the address of a UI that it does not know, and prints no links without one', async () => {
  const { code, out, err } = await runAssent(['queries'], environment);
  expect([code, out, err]).toEqual([1, '', expect.stringContaining('name the Temporal UI: --ui')]);
});
