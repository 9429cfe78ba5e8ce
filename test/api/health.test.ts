import { send, serveApi } from '../support/api';
import { createTestDatabase } from '../support/database';

describe('the readiness probe', () => {
  it('is a 200 when nothing is missing, a 503 that names what is, and a process lives either way', async () => {
    const test = await createTestDatabase();
    const problems: { path: string; message: string }[] = [];
    const api = await serveApi(test.db, { readiness: () => Promise.resolve(problems) });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 200,
      body: { message: 'ready', data: { mode: 'sandbox' } },
    });
    problems.push({ path: 'temporal', message: 'does not answer' });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 503,
      body: { success: false, message: 'Not ready: temporal: does not answer', errors: problems },
    });
    expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    // The answer to a question, and no fault of this process.
    expect(api.log).toContainEqual(expect.objectContaining({ route: '/readyz', status: 503, level: 30 }));
    await api.close();
    await test.drop();
  });
});
