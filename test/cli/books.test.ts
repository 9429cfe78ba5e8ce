import { makeKeyring } from '../../src/database/keyring/keyring';
import { claimRing } from '../../src/database/key-rotation/claim-keyring';
import { readLastResult } from '../../src/database/verify/nightly-result';
import { chainBooks } from '../support/books';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { settleOfEachKind } from '../support/settled';
import { standingApproval } from '../support/standing';
import { engineFacts, keys } from '../support/keyring';

const { keyring } = engineFacts;

const test = databaseOfFile();
const cli = createCli(test, keys);
// As each process does that encrypts.
beforeAll(() => claimRing(test.db, keyring));

const of = (...days: string[]) => cli.run('books', 'verify', ...days);

describe('assent books verify', () => {
  it('says that the books are right once they are chained, and exits with 1 and names the charge once they are not', async () => {
    const standing = await standingApproval(test.db);
    const { chargeId } = await settleOfEachKind(test.db, standing);
    expect(await cli.run('books', 'verify')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /\nNothing is chained yet: nothing was compared with the chains, /,
      ) as string,
    });
    await chainBooks(test.db);
    const right = await cli.run('books', 'verify');
    expect(right).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /│ charges +│ 8 +│[^]*│ refunds +│ 3 +│[^]*│ reversals and returns +│ 1 +│[^]*\nThe books are right\.\n$/,
      ) as string,
    });

    await asSchemaLogin(
      test.url,
      `SET session_replication_role = replica;
       UPDATE billing_requests SET bank_transaction_id = 'other' WHERE id = '${chargeId}'`,
    );
    const what = `its row says bankTransactionId other, and its last event (table events) says bankTransactionId tx-${chargeId}`;
    const wrong = await cli.run('books', 'verify', '--json');
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.out)).toMatchObject({
      ok: false,
      differences: 2,
      first: { check: 'charges', id: chargeId, what },
    });
    expect((await cli.run('books', 'verify')).out).toContain(`The first: charges: ${chargeId}: ${what}.`);
    expect(await readLastResult(test.db)).toMatchObject({
      differences: 2,
      found: [{ id: chargeId }, { id: chargeId }],
    });
    await asSchemaLogin(
      test.url,
      `SET session_replication_role = replica;
       UPDATE billing_requests SET bank_transaction_id = 'tx-${chargeId}' WHERE id = '${chargeId}'`,
    );
  });

  it('takes a range of days, and refuses one that is none', async () => {
    expect(await of('--from', '2020-01-01', '--to', '2020-01-31')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/│ charges +│ 0 +│[^]*│ changed rows +│ 0 +│/) as string,
    });
    expect((await of('--from', '2020-01-01')).out).toMatch(
      /│ charges +│ 8 +│[^]*│ refunds +│ 3 +│[^]*│ exceptions +│ 2 +│[^]*│ changed rows +│ 14 +│/,
    );
    expect(await of('--from', '2026-13-01')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^assent: --from is no day/) as string,
    });
    expect(await of('--from', '2026-02-02', '--to', '2026-02-01')).toMatchObject({ code: 1 });
  });

  it('takes no head for ours that another ring has signed, and keeps no result of that ring', async () => {
    await chainBooks(test.db);
    expect(await createCli(test, makeKeyring()).run('books', 'verify')).toMatchObject({
      code: 1,
      out: expect.stringContaining('none of the network') as string,
    });
    expect((await readLastResult(test.db)).found.map(({ check }) => check)).not.toContain('heads');
  });
});
