import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { effectFailures } from '../../src/worker/effect-failure';

/** What the history would hold of an effect that ends in `error`. */
async function recorded(error: unknown): Promise<unknown> {
  return effectFailures
    .execute?.({ args: [], headers: {} }, () => Promise.reject(error))
    .catch((failure: unknown) => failure);
}

/** As Postgres reports a refused value: with the value. */
const refusal = Object.assign(new Error('Key (email)=(ada@example.com) already exists'), {
  severity: 'ERROR',
  code: '23505',
  detail: 'Key (email)=(ada@example.com) already exists',
});

describe('an effect that fails', () => {
  it('leaves no value that Postgres quoted in the history', async () => {
    const failure = await recorded(refusal);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    const { message, stack, cause } = failure as ApplicationFailure;
    expect(`${message} ${stack}`).not.toContain('ada@example.com');
    expect(cause).toBeUndefined();
  });

  it('says which kind of error it was, for whoever reads the history', async () => {
    expect(((await recorded(refusal)) as ApplicationFailure).message).toContain('23505');
  });

  it('stays as it is where it was made for the history', async () => {
    const cancelled = new CancelledFailure('the worker stops');
    expect(await recorded(cancelled)).toBe(cancelled);
  });
});
