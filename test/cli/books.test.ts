import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { settleOfEachKind } from '../support/settled';
import { standingApproval } from '../support/standing';

const keys = makeKeyring();
const keyring = readKeyring(keys);

let test: TestDatabase;
let cli: ReturnType<typeof createCli>;
beforeAll(async () => {
  test = await createTestDatabase();
  cli = createCli({ url: test.url, keys });
});
afterAll(() => test.drop());

describe('assent books verify', () => {
  it('says that the books are right, and exits with 1 and names the charge once they are not', async () => {
    const standing = await standingApproval(test.db, keyring);
    const { chargeId } = await settleOfEachKind(test.db, keyring, standing);
    const right = await cli.run('books', 'verify');
    expect(right).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^The books are right: 8 charges, 3 refunds, 1 reversals, 2 agreements, 10 entries, \d+ balances\.\n$/,
      ) as string,
    });

    await asOwner(test.url, `UPDATE billing_requests SET refunded_amount = 0 WHERE id = '${chargeId}'`);
    const wrong = await cli.run('books', 'verify', '--json');
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.out)).toMatchObject({
      ok: false,
      differences: 1,
      found: [
        {
          check: 'charges',
          id: chargeId,
          what: 'refunded_amount is 0, and its refunds in the ledger with the pending ones are 40',
        },
      ],
    });
    expect((await cli.run('books', 'verify')).out).toContain(`charges: ${chargeId}: refunded_amount is 0`);
  });
});
