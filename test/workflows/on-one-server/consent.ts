import { randomUUID } from 'node:crypto';
import type { ConsentActivities } from '../../../src/activities/consent';
import { TASK_QUEUE } from '../../../src/domain/workflow/messages';
import { withWorker } from '../../support/workflow-worker';
import { newEnvironment } from './server';

const DAY_MS = 86_400_000;

describe('the workflow of an agreement', () => {
  it('looks at each moment to come and at each signal, and ends where nothing is to come', async () => {
    const environment = newEnvironment();
    const begin = await environment.currentTimeMs();
    let ends = begin + 800 * DAY_MS;
    const looks: number[] = [];
    const activities: ConsentActivities = {
      async keepConsent() {
        const now = await environment.currentTimeMs();
        looks.push(Math.round((now - begin) / DAY_MS));
        const next = now >= ends ? null : { inMs: ends - now, at: new Date(ends).toISOString() };
        return { did: [], state: 'active', waitsFor: 'The permission is active.', next };
      },
    };
    await withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start('consent', {
        workflowId: `consent/${randomUUID()}`,
        taskQueue: TASK_QUEUE,
        args: ['agr_1'],
      });
      await environment.sleep(2 * DAY_MS);
      ends = begin + 400 * DAY_MS;
      // Nobody but the customer ends the permission.
      await handle.cancel();
      await handle.signal('termsChanged');
      expect(await handle.result()).toEqual(['The permission is active.']);
    });
    expect(looks).toEqual([0, 2, 368, 400]);
  });
});
