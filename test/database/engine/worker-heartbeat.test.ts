import { deleteHeartbeat, listWorkers, writeHeartbeat } from '../../../src/database/engine/worker-heartbeat';
import { workerProblems } from '../../../src/temporal/readiness';
import { asSchemaLogin, databaseOfFile } from '../../support/database';

const test = databaseOfFile();
beforeEach(() => test.db.rows`DELETE FROM worker_heartbeats`);

const heartbeat = (workerId: string, reachesTemporal = true) =>
  writeHeartbeat(test.db, { workerId, version: '1.2.3', reachesTemporal, workflowTasks: 2, activities: 1 });

/** As if it had last beaten, and reached Temporal, so many seconds ago. */
const age = (workerId: string, beatS: number, temporalS: number) =>
  asSchemaLogin(
    test.url,
    `UPDATE worker_heartbeats SET beat_at = clock_timestamp() - interval '${beatS} seconds',
       temporal_at = clock_timestamp() - interval '${temporalS} seconds' WHERE worker_id = '${workerId}'`,
  );

const messages = async () =>
  (await workerProblems(test.db)).map(({ path, message }) => `${path}: ${message}`);

describe('the heartbeat of workers', () => {
  it('says that none works before the first has beaten', async () => {
    expect(await messages()).toEqual(['worker: no worker has sent a heartbeat yet']);
  });

  it.each([
    [9, 9, []],
    [11, 11, ['worker: no worker has sent a heartbeat for 11 s']],
    [2, 12, ['worker: no worker has reached Temporal for 12 s']],
  ])('that beat %i s ago and reached Temporal %i s ago is judged: %j', async (beatS, temporalS, problems) => {
    await heartbeat('one');
    await age('one', beatS, temporalS);
    expect(await messages()).toEqual(problems);
  });

  it('is no sign of work where Temporal has never answered', async () => {
    await heartbeat('one', false);
    expect(await messages()).toEqual(['worker: no worker has reached Temporal yet']);
  });

  it('keeps the last contact with Temporal while it has none', async () => {
    await heartbeat('one');
    await age('one', 20, 20);
    await heartbeat('one', false);
    expect(await messages()).toEqual(['worker: no worker has reached Temporal for 20 s']);
  });

  it('of one worker that lives is enough, whoever else is silent', async () => {
    await heartbeat('silent');
    await age('silent', 60, 60);
    await heartbeat('lives');
    expect(await messages()).toEqual([]);
    expect(await listWorkers(test.db)).toMatchObject([
      { workerId: 'lives', version: '1.2.3', alive: true, workflowTasks: 2, activities: 1 },
      { workerId: 'silent', alive: false },
    ]);
  });

  it('is forgotten after an hour, and at once where a worker ends in order', async () => {
    await heartbeat('dead');
    await age('dead', 3601, 3601);
    await heartbeat('silent');
    await age('silent', 3500, 3500);
    await heartbeat('ends');
    await deleteHeartbeat(test.db, 'ends');
    await heartbeat('lives');
    expect((await listWorkers(test.db)).map(({ workerId }) => workerId)).toEqual(['lives', 'silent']);
  });
});
