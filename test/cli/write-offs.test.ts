import { calendarDay } from '../../src/domain/calendar';
import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { sendBankFile } from '../support/send-bank-file';
import { answerBill, charge, exceptionOf } from '../support/settled';
import { standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);
const month = () => calendarDay(new Date(), 'Africa/Lagos').slice(0, 7);

interface Output {
  totals: object[];
  writeOffs: { exceptionId: string; entry: string | null }[];
}

it('lists what the network bears, and what was written off without an entry, with who and why', async () => {
  const standing = await standingApproval(test.db);
  const { bankId } = standing;
  const denied = await charge(test.db, standing);
  await answerBill(test.db, standing, denied.id, null);
  const borne = await exceptionOf(test.db, denied.id);
  const today = calendarDay(new Date(), 'Africa/Lagos');
  await sendBankFile(test.db, bankId, [`not-ours,${today},7.50,NGN,debit`]);
  const unknown = await test.db.oneRow<{ id: string }>`
    SELECT id FROM reconciliation_exceptions WHERE kind = 'unknown_here'`;
  const end = (exceptionId: string, reason: string) =>
    cli.json('exceptions', 'resolve', exceptionId, '--resolution', 'written_off', '--reason', reason);
  await end(borne, 'TICKET-8');
  await end(unknown.id, 'TICKET-9');

  const { totals, writeOffs } = await cli.json<Output>('write-offs', '--month', month());
  const writtenOffBy = expect.stringMatching(/^operator:/) as string;
  expect(writeOffs).toMatchObject([
    {
      exceptionId: borne,
      entry: 'write_off',
      bankId,
      reference: denied.reference,
      amount: 1,
      currency: 'NGN',
      writtenOffBy,
      reason: 'TICKET-8',
    },
    { exceptionId: unknown.id, entry: null, bankId, reference: null, amount: 7.5, reason: 'TICKET-9' },
  ]);
  expect(totals).toEqual([
    {
      currency: 'NGN',
      borne: { count: 1, amount: 1 },
      takenBack: { count: 0, amount: 0 },
      withoutEntry: { count: 1, amount: 7.5 },
    },
  ]);
  const { out } = await cli.run('write-offs', '--month', month());
  expect(out).toMatch(/NGN 1\.00[^]*TICKET-8[^]*NGN 7\.50[^]*TICKET-9/);
  expect(out).toContain('borne by the network');
  expect(await cli.run('write-offs', '--month', '2026-01')).toMatchObject({
    code: 0,
    out: 'Nothing was written off in 2026-01.\n',
  });
});

it.each(['2026-13', 'january', '2026-01-01'])('refuses the month %s', async (given) => {
  expect(await cli.run('write-offs', '--month', given)).toMatchObject({
    code: 1,
    err: expect.stringContaining('--month is no month') as string,
  });
});
