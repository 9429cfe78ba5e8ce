import { addDays, calendarDay } from '../../src/domain/calendar';
import { serveApi, tokenOf } from '../support/api';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { sendBankFile } from '../support/send-bank-file';
import { charge } from '../support/settled';
import { standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);
const today = () => calendarDay(new Date(), 'Africa/Lagos');

interface Output {
  banks: { bankId: string; reached: Record<string, string>; withoutLine: object[] }[];
  files: { statementId: string }[];
}

it('lists files, the days that they reach, and by age the bookings that are in none, missing ones too', async () => {
  const standing = await standingApproval(test.db);
  const other = await standingApproval(test.db);
  const { bankId } = standing;
  const [booked, missing, recent] = [
    await charge(test.db, standing),
    await charge(test.db, standing),
    await charge(test.db, standing),
  ];
  const settle = (id: string, day: string) =>
    asSchemaLogin(
      test.url,
      `UPDATE expected_bookings SET settlement_day = '${day}' WHERE identifier = 'tx-${id}'`,
    );
  const [old, from] = [addDays(today(), -40), addDays(today(), -100)];
  await settle(booked.id, old);
  await settle(missing.id, old);
  await settle(recent.id, addDays(today(), -1));
  const through = addDays(today(), -20);
  const first = await sendBankFile(test.db, bankId, [`tx-${booked.id},${old},1,NGN,debit`], {
    from,
    through,
  });
  const second = await sendBankFile(test.db, bankId, [`any,${old},5,KES,debit`]);

  const { banks, files } = await cli.json<Output>('bank-files', 'list', '--bank', bankId);
  expect(banks).toEqual([
    {
      bankId,
      name: 'Bank',
      reached: { NGN: through, KES: through },
      withoutLine: [
        { currency: 'NGN', olderThanDays: 0, bookings: 1, amount: 1, since: addDays(today(), -1) },
        { currency: 'NGN', olderThanDays: 30, bookings: 1, amount: 1, since: old },
      ],
    },
  ]);
  expect(files).toMatchObject([
    { statementId: second, bankId, status: 'completed', from: old, through: old },
    { statementId: first, from, through, summary: { lines: 1, matched: 1, missingAtBank: 1 } },
  ]);
  const all = await cli.json<Output>('bank-files', 'list');
  expect(all.banks.map((one) => one.bankId)).toEqual(expect.arrayContaining([bankId, other.bankId]));
  const { out } = await cli.run('bank-files', 'list');
  expect(out).toMatch(
    new RegExp(`Bank \\(${bankId}\\): its files reach KES ${through}, NGN ${through}\\.\n`),
  );
  expect(out).toMatch(new RegExp(`│ 31 to 90 days +│ 1 +│ NGN 1\\.00 +│ ${old} │`));
  expect(out).toContain(`Bank (${other.bankId}): it has sent no file, and no booking lacks its line.\n`);
  expect(await cli.run('bank-files', 'list', '--bank', 'bnk_1')).toMatchObject({ code: 1 });
});

it('prints the differences of a file, as its bank reads them by API', async () => {
  const standing = await standingApproval(test.db);
  const { bankId, credentials } = standing;
  const lines = [`=unknown,${today()},7.50,NGN,debit`, `late,never,1,NGN,debit`];
  const statementId = await sendBankFile(test.db, bankId, lines);
  const api = await serveApi(test.db);
  const authorization = `Bearer ${await tokenOf(api, credentials.bank)}`;
  const url = `${api.url}/v1/bank/statements/${statementId}/differences.csv`;
  const csv = await (await fetch(url, { headers: { authorization } })).text();
  await api.close();
  expect(csv).toContain('unknown_here');
  expect(await cli.run('bank-files', 'differences', statementId)).toEqual({ code: 0, out: csv, err: '' });
  const { differences } = await cli.json<{ differences: object[] }>('bank-files', 'differences', statementId);
  expect(differences).toMatchObject([
    { difference: 'unknown_here', bankTransactionId: '=unknown', amount: 7.5 },
    { difference: 'malformed', line: 3 },
  ]);
  expect(await cli.run('bank-files', 'differences', 'stm_1')).toMatchObject({ code: 1, out: '' });
});
