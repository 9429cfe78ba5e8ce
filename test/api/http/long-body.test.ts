import { Failure } from '../../../src/domain/failures';
import { apiOfFile, enter, type Party } from '../../support/api';
import { person } from '../../support/person';
import { RawConnection } from '../../support/raw-http';

/** Bodies that wait in the database while they arrive, of calls that are refused after all. */

const { api, database: test } = apiOfFile({
  limiter: {
    take: () => Promise.reject(new Failure('unavailable', 'No place came free', { retryAfterS: 1 })),
  },
});
let bank: Party;
beforeAll(async () => {
  bank = await enter(api, 'bank');
});

const LINES = Array.from({ length: 1_001 }, (_, n) => `A${n},2026-03-02,10.00,NGN,debit`);
const BODIES = [
  {
    path: '/v1/bank/customers',
    type: 'application/json',
    body: JSON.stringify({ customers: Array.from({ length: 600 }, () => person()) }),
    tooLong: 16 * 1024 ** 2 + 1,
  },
  {
    path: '/v1/bank/statements',
    type: 'text/csv',
    body: ['bankTransactionId,bookingDate,amount,currency,direction', ...LINES, ''].join('\n'),
    tooLong: 1024 ** 3 + 1,
  },
];

const waiting = () =>
  test.db.row`
  SELECT (SELECT count(*)::int FROM staged_customers) AS customers,
  (SELECT count(*)::int FROM bank_file_pages) AS "statementPages"`;
const NOTHING = { customers: 0, statementPages: 0 };

/** A request of which no more than its headers comes. @returns the statuses of its answers */
async function unread(type: string, path: string, length: number): Promise<number[]> {
  const connection = await RawConnection.to(api.url);
  await connection.send(
    `POST ${path}?x=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bank.token}\r\n` +
      `Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const statuses = await connection.answers(1);
  connection.close();
  return statuses;
}

describe.each(BODIES)('what is sent to $path', ({ path, type, body, tooLong }) => {
  const post = (query: string, headers: Record<string, string> = {}) =>
    bank.send('POST', `${path}${query}`, body, { 'content-type': type, ...headers });

  it('is not taken in where the rest of the request is wrong', async () => {
    for (const answered of [await post('?x=1'), await post('', { 'idempotency-key': 'with blank' })]) {
      expect(answered.status).toBe(400);
      expect(await waiting()).toEqual(NOTHING);
    }
  });

  it('leaves nothing behind where its caller gets no place', async () => {
    expect(await post('')).toMatchObject({ status: 503, body: { message: 'No place came free' } });
    expect(await waiting()).toEqual(NOTHING);
  });

  it('is refused for its type, and then for its size, before the rest of the request', async () => {
    expect(await unread('text/html', path, tooLong)).toEqual([415]);
    expect(await unread(type, path, tooLong)).toEqual([413]);
  });
});
