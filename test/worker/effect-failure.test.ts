import { ServiceError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { CommitLost, DatabaseSilent } from '../../src/database/pool/availability';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { decrypt, encrypt } from '../../src/database/keyring/encrypt';
import { effectFailures } from '../../src/worker/run';

/** What the history would hold of an effect that ends in `error`. */
async function recorded(error: unknown): Promise<unknown> {
  return effectFailures
    .execute?.({ args: [], headers: {} }, () => Promise.reject(error))
    .catch((failure: unknown) => failure);
}

/** As Postgres reports it: with the value. */
const postgres = (code: string, names: object = {}) =>
  Object.assign(new Error('Key (email)=(ada@example.com) already exists'), {
    severity: 'ERROR',
    code,
    detail: 'Key (email)=(ada@example.com) already exists',
    ...names,
  });
const refusal = postgres('23505', { constraint: 'customers_email' });

const network = (code: string) => Object.assign(new Error(`connect ${code} 127.0.0.1:5432`), { code });

function keyLacking(): unknown {
  const place = 'customers.email_encrypted:cus_1';
  const encrypted = encrypt(readKeyring(makeKeyring()), 'ada@example.com', place);
  try {
    return decrypt(readKeyring(makeKeyring()), encrypted, place);
  } catch (error) {
    return error;
  }
}

function unreadable(): unknown {
  try {
    return JSON.parse('ada@example.com');
  } catch (error) {
    return error;
  }
}

describe('an effect that fails', () => {
  it('leaves no value that Postgres quoted in the history', async () => {
    const failure = await recorded(refusal);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    const { message, stack, cause } = failure as ApplicationFailure;
    expect(`${message} ${stack}`).not.toContain('ada@example.com');
    expect(cause).toBeUndefined();
  });

  it.each<[string, unknown, string | RegExp]>([
    ['a unique key', refusal, 'A rule of the database refused it (Error customers_email 23505)'],
    [
      'a column that may not be empty',
      postgres('23502', { column: 'email' }),
      'A rule of the database refused it (Error email 23502)',
    ],
    ['a trigger of ours', postgres('P0001'), 'A rule of the database refused it (Error P0001)'],
    ['a time limit', postgres('57014'), 'A statement took too long, and Postgres ended it (Error 57014)'],
    ...['55P03', '40001', '40P01'].map((code): [string, unknown, string] => [
      `a lock, ${code}`,
      postgres(code),
      `Another transaction holds the row, or has changed it meanwhile (Error ${code})`,
    ]),
    [
      'too many connections',
      postgres('53300'),
      'Postgres has no connection, memory or disk left (Error 53300)',
    ],
    [
      'a replica',
      postgres('25006'),
      'Postgres is read-only, as a server left behind by a failover is (Error 25006)',
    ],
    ['a shutdown', postgres('57P01'), 'Postgres cannot be reached, or does not answer (Error 57P01)'],
    [
      'a port that nobody listens at',
      network('ECONNREFUSED'),
      'Postgres cannot be reached, or does not answer (connect ECONNREFUSED 127.0.0.1:5432)',
    ],
    [
      'silence',
      new DatabaseSilent(),
      'Postgres cannot be reached, or does not answer (Postgres did not answer in time)',
    ],
    ['a lost commit', new CommitLost(undefined), /^Postgres cannot be reached, or does not answer \(/],
    [
      'a key that is missing',
      keyLacking(),
      /^The keyring cannot decrypt a stored value \(ASSENT_KEYS lacks the key "\w+"/,
    ],
    [
      'Temporal',
      new ServiceError('Failed to describe Workflow'),
      'Temporal does not answer, or refuses what it is asked for (Failed to describe Workflow)',
    ],
    [
      'a fault of ours',
      new TypeError('x is not a function'),
      'Something unexpected: the worker’s log says where (x is not a function)',
    ],
    ['text', unreadable(), 'Something unexpected: the worker’s log says where (SyntaxError)'],
    ['no error at all', 'ada@example.com', 'Something unexpected: the worker’s log says where (string)'],
  ])('says in words what failed, with its code, and quotes nothing: %s', async (_, error, words) => {
    const { message } = (await recorded(error)) as ApplicationFailure;
    if (typeof words === 'string') expect(message).toBe(words);
    else expect(message).toMatch(words);
    expect(message).not.toContain('ada@');
  });

  it('stays as it is where it was made for the history', async () => {
    const cancelled = new CancelledFailure('the worker stops');
    expect(await recorded(cancelled)).toBe(cancelled);
  });
});
