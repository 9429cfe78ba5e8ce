import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RECORD_VARIABLE } from '../test/support/answer-record';
import { documentedAnswers, readRecord } from '../test/support/api-coverage';

/**
 * Runs the tests that speak to the API. Fails where a test fails, or where what they got and what
 * is documented are not the same.
 */
async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assent-coverage-'));
  try {
    const record = path.join(folder, 'answers');
    await writeFile(record, '');
    const jest = spawn(process.execPath, [require.resolve('jest/bin/jest'), 'test/api/', 'test/journeys/'], {
      env: { ...process.env, [RECORD_VARIABLE]: record },
      stdio: 'inherit',
    });
    const [code] = (await once(jest, 'exit')) as [number | null];
    const seen = readRecord(record);
    const answers = documentedAnswers();
    const missing = answers.filter((answer) => !seen.has(answer));
    const surprising = [...seen.keys()].filter((answer) => !answers.includes(answer));
    const problems = [
      ...(code === 0 ? [] : ['tests have failed']),
      ...missing.map((answer) => `documented, but never seen: ${answer}`),
      ...surprising.map((answer) => `seen in ${seen.get(answer)}, but not documented: ${answer}`),
    ];
    if (problems.length > 0) throw new Error(problems.join('\n'));

    process.stdout.write(`${answers.length} documented answers, each of them seen\n`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
