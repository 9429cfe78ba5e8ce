import { eventually } from '../../support/engine';
import { engine } from './engine';
import { bank, becomes, billings, cast, create, jump, merchant, retrieve } from './schedule-stage';

/** Apart from the other stories, as Temporal waits for a dead worker for some ten seconds. */
describe('schedules without a worker', () => {
  test('nothing falls due without a worker; once it is back, due dates are charged oldest first, three in a day, each once, though it is killed while the clock advances', async () => {
    const scheduleId = await create({ frequency: 'daily', maxBillings: 12 });
    await becomes(scheduleId, '0 successful');
    await engine.worker.kill();
    await jump('P5D');
    expect((await billings(scheduleId))[1]).toBe('1 scheduled');
    await engine.worker.start();
    await becomes(scheduleId, '3 successful');
    expect((await billings(scheduleId))[4]).toBe('4 scheduled');

    const advance = merchant.advanceClock('P12D');
    await eventually(async () => (await bank.server.ledger()).length >= 8);
    await engine.worker.kill();
    await engine.worker.start();
    await advance;
    const schedule = await retrieve(scheduleId);
    expect(schedule.status).toBe('completed');
    expect(schedule.billings.map(({ status }) => status)).toEqual(Array(12).fill('successful'));
    expect(await bank.server.ledger()).toHaveLength(12);
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
