import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSandbox } from '../../packages/sandbox/src';

const player = {
  name: 'A',
  entityId: 'e',
  clientId: 'c',
  clientSecret: 's3cret',
  webhookSecret: 'whsec_s3cret',
};
const config = { ASSENT_MODE: 'sandbox', NETWORK_TIMEZONE: 'Africa/Lagos' } as const;
const said: unknown[] = [];
const log = {
  warn: (...words: unknown[]) => said.push(words),
  error: (...words: unknown[]) => said.push(words),
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'assent-cast-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function castFile(text: string): string {
  const file = path.join(folder, 'sandbox.json');
  writeFileSync(file, text);
  return file;
}

const whole = JSON.stringify({ shop: player, bank: player, apiUrl: 'http://127.0.0.1:3000' });

it('a sandbox has its parties where npm start has made some, and production never', () => {
  const SANDBOX_CAST = castFile(whole);
  const opened = openSandbox({ ...config, SANDBOX_CAST }, log);
  expect(opened?.state).toMatchObject({ shop: { entityId: 'e', name: 'A' }, workflowUrl: null });
  expect(JSON.stringify(opened?.state)).not.toContain('s3cret');
  opened?.close();
  expect(openSandbox(config, log)).toBeUndefined();
  expect(openSandbox({ ...config, ASSENT_MODE: 'production', SANDBOX_CAST }, log)).toBeUndefined();
});

it.each([['{"shop":{"clientSecret":"s3cret"'], ['{}'], ['null']])(
  'the API goes on without them where their file holds %s, and logs no secret',
  (text) => {
    said.length = 0;
    expect(openSandbox({ ...config, SANDBOX_CAST: castFile(text) }, log)).toBeUndefined();
    expect(said).toHaveLength(1);
    expect(String((said as [{ err: Error }][])[0]?.[0].err)).toContain('remove it');
    expect(String((said as [{ err: Error }][])[0]?.[0].err)).not.toContain('s3cret');
  },
);
