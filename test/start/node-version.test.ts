import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assent-node-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a shell command in a Node that says that it is another version. */
function runOn(version: string, command: string) {
  const pretend = join(folder, `${version}.cjs`);
  const versions = JSON.stringify({ ...process.versions, node: version });
  writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: `--require ${pretend}` },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, said: stdout + stderr };
}

const refusal = (version: string) =>
  `assent: This is Node ${version}, and Assent runs on Node 20.19 to 24. Install one of them (https://nodejs.org), and start again.\n`;

it.each(['18.20.8', '20.18.3', '25.0.0'])('Node %s is refused with the versions that do', (version) => {
  expect(runOn(version, 'node --require ./bin/node-version.js --print 1')).toEqual({
    status: 1,
    said: refusal(version),
  });
});

it.each(['20.19.0', '22.0.0', '24.99.1'])('Node %s is supported', (version) => {
  expect(runOn(version, 'node --require ./bin/node-version.js --print 1')).toEqual({
    status: 0,
    said: '1\n',
  });
});

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

it.each(['start', 'api', 'worker', 'migrate', 'demo'])(
  '`npm run %s` starts nothing on a Node that is not supported',
  (name) => {
    expect(runOn('18.20.8', scripts[name] ?? '')).toEqual({ status: 1, said: refusal('18.20.8') });
  },
);
