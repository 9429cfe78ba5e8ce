import { readConfig, type Config } from '../../../src/settings/config';
import { serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase } from '../../support/database';

let test: Awaited<ReturnType<typeof createTestDatabase>>;
const open: ServedApi[] = [];
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(async () => {
  await Promise.all(open.map((api) => api.close()));
  await test.drop();
});

async function serve(mode: Config['ASSENT_MODE'] = 'sandbox'): Promise<ServedApi> {
  const api = await serveApi(test.db, { config: { ...readConfig({}), ASSENT_MODE: mode } });
  open.push(api);
  return api;
}

async function pathsIn(mode: Config['ASSENT_MODE']): Promise<string[]> {
  const { url } = await serve(mode);
  const answered = await fetch(`${url}/openapi.json`);
  const { openapi, paths: described } = (await answered.json()) as { openapi: string; paths: object };
  expect([answered.status, openapi]).toEqual([200, '3.1.0']);
  return Object.keys(described);
}

describe('the reference', () => {
  it('is open to everybody, and has the test clock in a sandbox alone', async () => {
    const clock = ['/v1/sandbox/clock/advance', '/v1/sandbox/clock'];
    const production = await pathsIn('production');
    expect(production.length).toBeGreaterThan(40);
    expect((await pathsIn('sandbox')).filter((path) => !production.includes(path)).toSorted()).toEqual(
      clock.toSorted(),
    );
  });

  it('is a page whose every part we serve ourselves, and which may run no other script', async () => {
    const { url } = await serve();
    const page = await fetch(`${url}/docs`);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self';");
    const html = await page.text();
    expect(html).not.toMatch(/<script(?! src=)|<style|\son\w+=|https?:/);
    const parts = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, part]) => part);
    expect(parts).toHaveLength(3);
    for (const part of parts) {
      const answered = await fetch(`${url}${part}`);
      expect([part, answered.status]).toEqual([part, 200]);
      expect((await answered.text()).length).toBeGreaterThan(100);
    }
  });

  it('is where the bare address leads, as long as there is no sandbox to play in', async () => {
    const { url } = await serve('production');
    const { status, headers } = await fetch(url, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, '/docs']);
  });

  it('leaves the policy of every other answer as strict as it was', async () => {
    const { url } = await serve();
    const policy = (await fetch(`${url}/openapi.json`)).headers.get('content-security-policy');
    expect(policy).toContain('upgrade-insecure-requests');
    expect(policy).not.toContain('unsafe-eval');
  });
});
