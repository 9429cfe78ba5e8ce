import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { eventually, startEngine, type TestEngine } from './support/engine';
import { linkProgram } from './support/installation';
import { freeOffset, makeStartFolder, NpmStart } from './support/npm-start';
import { startOwnServers, type OwnServers } from './support/own-servers';

/**
 * The commands of docs/operations.md, and of docs/going-live.md, as an operator pastes them, beside
 * `npm start` and beside servers of one's own.
 */

const ROOT = path.join(__dirname, '..');
/** A start takes ten seconds, and several times that while others use the machine. */
const START_TIMEOUT_MS = 240_000;
const BLOCK_TIMEOUT_MS = 150_000;

interface Block {
  heading: string;
  script: string;
}

/** Of a page, all blocks of a language, by the heading above each. */
async function blocksOf(language: string, name = 'operations'): Promise<Block[]> {
  const page = await readFile(path.join(ROOT, `docs/${name}.md`), 'utf8');
  return page.split(/^#+ /m).flatMap((section) => {
    const heading = section.split('\n')[0] ?? '';
    return [...section.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(
      ([, script = '']) => ({ heading, script }),
    );
  });
}

/** Pastes a block into a shell. */
function paste(
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile('bash', ['-ec', script], { cwd, env }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, output: out + err }),
    );
  });
}

async function expectEachRuns(blocks: Block[], folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  for (const { heading, script } of blocks) {
    const { code, output } = await paste(script, folder, env);
    expect({ heading, code, output }).toEqual({
      heading,
      code: 0,
      output: expect.not.stringMatching(/not found|error:/i) as string,
    });
  }
}

describe('beside npm start', () => {
  let folder: string;
  let removeFolder: () => Promise<void>;
  let started: NpmStart;
  let PATH: string;

  beforeAll(async () => {
    ({ folder, remove: removeFolder } = await makeStartFolder());
    // "In the same folder".
    PATH = await linkProgram(folder);
    started = new NpmStart(folder, { PORT_OFFSET: String(await freeOffset()) });
    await started.ready();
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await started.stop();
    await removeFolder();
  });

  test(
    'each block of the page runs as it stands, without psql or temporal',
    async () => {
      const blocks = await blocksOf('sh');
      expect(blocks.length).toBeGreaterThan(6);
      await expectEachRuns(blocks, folder, { PATH, HOME: process.env['HOME'] });
    },
    3 * BLOCK_TIMEOUT_MS,
  );
});

describe('beside servers of one’s own', () => {
  let servers: OwnServers;
  let engine: TestEngine;
  let folder: string;
  let PATH: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'assent-operations-'));
    PATH = await linkProgram(folder);
    servers = await startOwnServers();
    engine = await startEngine({}, servers);
    await eventually(async () => (await fetch(`${engine.apiUrl}/readyz`)).status === 200);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await engine.stop();
    await servers.stop();
    await rm(folder, { recursive: true });
  });

  test(
    'each block of the page runs as it stands',
    async () => {
      const { LOG_FILE: _, ...env } = engine.environment;
      await expectEachRuns(await blocksOf('sh'), folder, {
        ...env,
        PATH,
        DATABASE_OWNER_URL: servers.ownerUrl,
      });
    },
    3 * BLOCK_TIMEOUT_MS,
  );

  test(
    'what docs/going-live.md has an operator do on an installation can be done, and finds nothing wrong',
    async () => {
      const { LOG_FILE: _, ...env } = engine.environment;
      const blocks = await blocksOf('sh', 'going-live');
      expect(blocks).toHaveLength(3);
      await expectEachRuns(blocks, folder, env);
    },
    BLOCK_TIMEOUT_MS,
  );

  test('"sql" reads what it is asked for, and writes nothing unless it is the owner', async () => {
    const { LOG_FILE: _, ...env } = engine.environment;
    const read = await paste(
      `echo 'SELECT 40 + 2 AS answer' | npx assent sql --json 2>/dev/null`,
      folder,
      env,
    );
    expect(JSON.parse(read.output)).toMatchObject({ results: [{ rows: [{ answer: 42 }] }] });
    const written = await paste(`echo 'DELETE FROM outbox' | npx assent sql`, folder, env);
    expect(written).toMatchObject({ code: 1, output: expect.stringMatching(/read-only transaction/) });
  });

  test('what the page has a superuser do can be done', async () => {
    const [logins, ...others] = await blocksOf('sql');
    const superuser = new Client(servers.superuserUrl);
    await superuser.connect();
    // This server has the role that all databases share.
    const statements = (logins?.script ?? '').split(';').map((one) => one.trim());
    const made = statements.filter((one) => one !== '' && !one.startsWith('CREATE ROLE assent_app'));
    expect(made).toHaveLength(3);
    for (const statement of made) {
      await superuser.query(statement.replaceAll(/assent_(owner|login)|DATABASE assent/g, '$&_of_page'));
    }
    for (const { script } of others) await superuser.query(script);
    await superuser.end();
  });
});
