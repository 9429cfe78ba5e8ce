import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { send } from '../../support/api';
import { agreement, Cast } from '../../support/cast';
import { createCli } from '../../support/cli';
import { eventually } from '../../support/engine';
import { toNoon } from '../../support/standing';
import { engine } from './engine';

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';

interface Shown {
  statementId: string;
  status: string;
  summary: Record<string, number>;
  differencesUrl: string;
}

const isOpened =
  (kind: string) =>
  (event: { type: string; item: Record<string, unknown> }): boolean =>
    event.type === 'exception.opened' && event.item['kind'] === kind;

/** Sent by its bank or handed in by the operator, matched by its workflow, and told of. */
describe("a bank's statement", () => {
  test('is matched by its workflow, and both sides are told of what differs', async () => {
    const cast = new Cast(engine);
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const today = await toNoon(engine.database.db, merchant.entityId);
    await toNoon(engine.database.db, bank.entityId);
    const line = (id: string, amount: number) => `${id},${today},${amount},NGN,debit,`;
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
    const [booked, lacking] = [
      await merchant.charge({ paymentIDs: [paymentID] }, 40),
      await merchant.charge({ paymentIDs: [paymentID] }, 100),
    ];
    for (const { billingRequestId } of [booked, lacking])
      await merchant.hears('billing.response', billingRequestId);
    const { body } = await bank.api.get(`/v1/transaction-details?reference=${booked.reference}`);
    const bookedAs = String(body.data?.['bankTransactionId']);

    const file = [HEADER, line(bookedAs, 40), line('FT-UNKNOWN', 7)].join('\n');
    const sent = await send(engine.apiUrl, 'POST', '/v1/bank/statements', file, {
      authorization: `Bearer ${await bank.api.accessToken()}`,
      'content-type': 'text/csv',
    });
    expect(sent.status).toBe(202);
    const { statementId } = sent.body.data as unknown as Shown;
    const shown = async () =>
      (await bank.api.get(`/v1/bank/statements/${statementId}`)).body.data as unknown as Shown;
    await eventually(async () => (await shown()).status === 'completed');
    const { summary, differencesUrl } = await shown();
    expect(summary).toEqual({
      lines: 2,
      matched: 1,
      duplicates: 0,
      unknownHere: 1,
      missingAtBank: 1,
      amountDiffers: 0,
      malformed: 0,
      notKept: 0,
      pending: 0,
    });
    await bank.server.waitFor('what is unknown', isOpened('unknown_here'), 20_000);
    const { item } = await merchant.server.waitFor('what is missing', isOpened('missing_at_bank'), 20_000);
    expect(item).toMatchObject({ reference: lacking.reference, amount: 100 });

    const connection = await Connection.connect({ address: engine.temporalAddress });
    const temporal = new Client({ connection, namespace: engine.namespace });
    const handle = temporal.workflow.getHandle(`bank-file/${statementId}`);
    await handle.result();
    expect(await (await handle.describe()).staticSummary()).toBe('Bank file of 2 lines of Harbour Bank');
    const details = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(details.currentDetails).toBe(
      'The file is completed: 1 matched, 0 duplicates, 1 unknown here, 1 missing at the bank, 0 with another amount, 0 malformed, 0 pending.',
    );

    // Handed in by the operator, the same file is the same statement; another is matched alike.
    const folder = await mkdtemp(path.join(tmpdir(), 'assent-statement-'));
    const cli = createCli(engine.database, String(engine.environment['ASSENT_KEYS']));
    const name = path.join(folder, 'statement.csv');
    const match = (...more: string[]) =>
      cli.json<Shown>('statement', 'match', name, '--bank', bank.entityId, ...more);
    await writeFile(name, file);
    expect(await match()).toEqual({ statementId, status: 'completed', summary, differencesUrl });
    await writeFile(name, `${file}\n${line(bookedAs, 40)}`);
    const another = { lines: 3, matched: 1, duplicates: 1 };
    expect(await match()).toMatchObject({ status: 'completed', summary: another });
    // A file that covers a day has that day, whatever its lines are of.
    await writeFile(name, HEADER);
    const covered = await match('--from', '2026-03-01', '--through', '2026-03-02');
    expect(covered.summary).toMatchObject({ lines: 0, matched: 0 });
    await expect(match('--from', 'monday')).rejects.toThrow('2026-11-01');
    const { err } = await cli.run('statement', 'match', name, '--bank', merchant.entityId);
    expect(err).toContain('is no bank');

    expect(await cast.gaps()).toEqual([]);
    await rm(folder, { recursive: true });
    await connection.close();
    await cast.leave();
  });
});
