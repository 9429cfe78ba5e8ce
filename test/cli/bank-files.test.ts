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
const said = (message: string) => ({ code: 1, err: expect.stringContaining(message) as string });
const withdraw = (id: string) => cli.json('bank-files', 'withdraw', id, '--reason', 'of another account');
const today = () => calendarDay(new Date(), 'Africa/Lagos');

interface Output {
  banks: { bankId: string; withoutLine: object[]; files: object[] }[];
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

  const { banks } = await cli.json<Output>('bank-files', 'list', '--bank', bankId);
  expect(banks).toMatchObject([{ files: [{}, { summary: { lines: 1, matched: 1, missingAtBank: 1 } }] }]);
  expect(banks).toEqual([
    {
      bankId,
      name: 'Bank',
      reached: { NGN: through, KES: through },
      withoutLine: [
        { currency: 'NGN', olderThanDays: 0, bookings: 1, amount: 1, since: addDays(today(), -1) },
        { currency: 'NGN', olderThanDays: 30, bookings: 1, amount: 1, since: old },
      ],
      files: [
        expect.objectContaining({ statementId: second, status: 'completed', from: old, through: old }),
        expect.objectContaining({ statementId: first, from, through }),
      ],
    },
  ]);
  const all = await cli.json<Output>('bank-files', 'list');
  expect(all.banks.map((one) => one.bankId)).toEqual(expect.arrayContaining([bankId, other.bankId]));
  const { out } = await cli.run('bank-files', 'list');
  expect(out).toMatch(
    new RegExp(`Bank \\(${bankId}\\): its files reach KES ${through}, NGN ${through}\\.\n`),
  );
  expect(out).toContain(
    `In no file: 1 booking, NGN 1.00, settled more than 30 days ago, the oldest on ${old}.\n`,
  );
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
  expect(await cli.run('bank-files', 'differences', 'stm_1')).toMatchObject({ code: 1, out: '' });
});

it('sets from which day on bookings are expected, for the audit record too', async () => {
  const standing = await standingApproval(test.db);
  const { bankId } = standing;
  await charge(test.db, standing);
  const old = addDays(today(), -40);
  await asSchemaLogin(
    test.url,
    `UPDATE expected_bookings SET settlement_day = '${old}' WHERE bank_id = '${bankId}'`,
  );
  const withoutLine = async () =>
    (await cli.json<Output>('bank-files', 'list', '--bank', bankId)).banks[0]?.withoutLine.length;
  const from = (day: string) => cli.json('bank-files', 'from', bankId, day, '--reason', 'TICKET-5');
  expect(await withoutLine()).toBe(1);
  expect(await from(addDays(old, 1))).toEqual({ bankId, from: addDays(old, 1) });
  expect(await withoutLine()).toBe(0);
  await from(old);
  expect(await withoutLine()).toBe(1);
  const { events } = await cli.json<{ events: object[] }>('audit', '--entity', bankId);
  expect(events.at(-1)).toMatchObject({
    entityId: bankId,
    reason: 'TICKET-5',
    before: { begins: addDays(old, 1) },
    after: { begins: old },
  });
  expect(await cli.run('bank-files', 'from', bankId, old)).toMatchObject(said('--reason'));
  expect(await cli.run('bank-files', 'from', bankId, 'May', '--reason', 'x')).toMatchObject(
    said('is no day'),
  );
  expect(await cli.run('bank-files', 'from', 'bnk_1', old, '--reason', 'x')).toMatchObject(
    said('is no bank'),
  );
});

it('withdraws a wrong file, with the exceptions that it made', async () => {
  const { bankId } = await standingApproval(test.db);
  const lines = ['a', 'b'].map((id) => `wrong-${id},${today()},7.50,NGN,debit`);
  const statementId = await sendBankFile(test.db, bankId, lines);
  const open = async () =>
    (await cli.json<{ exceptions: object[] }>('exceptions', 'list', '--entity', bankId)).exceptions.length;
  expect(await open()).toBe(2);
  expect(await withdraw(statementId)).toEqual({ statementId, status: 'withdrawn', toSendAgain: [] });
  expect(await open()).toBe(0);
  expect(await withdraw(statementId)).toEqual({ statementId, status: 'withdrawn', toSendAgain: [] });
  const { banks } = await cli.json<Output>('bank-files', 'list', '--bank', bankId);
  expect(banks).toMatchObject([{ files: [{ statementId, status: 'withdrawn' }] }]);
});

it('names the file between two withdrawn ones, whose lines are known again once it is sent again', async () => {
  const { bankId } = await standingApproval(test.db);
  const send = (n: number) =>
    sendBankFile(test.db, bankId, [`both,${today()},7.50,NGN,debit`, `own-${n},${today()},1,NGN,debit`]);
  const [first, between, last] = [await send(1), await send(2), await send(3)];
  const open = async () => {
    const { exceptions } = await cli.json<{ exceptions: { bankTransactionId: string }[] }>(
      'exceptions',
      'list',
      '--entity',
      bankId,
    );
    return exceptions.map(({ bankTransactionId }) => bankTransactionId).toSorted();
  };
  expect(await withdraw(first)).toMatchObject({ toSendAgain: [] });
  expect(await withdraw(last)).toMatchObject({ toSendAgain: [between] });
  expect(await open()).toEqual(['own-2']);
  expect(await withdraw(between)).toMatchObject({ toSendAgain: [] });
  await send(2);
  expect(await open()).toEqual(['both', 'own-2']);
});
