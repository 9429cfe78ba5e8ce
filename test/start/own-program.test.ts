import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEAP } from '../../src/start/own-program';

const read = (file: string) => readFileSync(join(__dirname, '../..', file), 'utf8').split('\n');

/** `test/kubernetes.test.ts` holds the manifests to the Dockerfile. */
const WAYS = ['package.json', 'Dockerfile', 'docker-compose.yml', 'docs/operations.md'];

it.each(['API', 'worker'] as const)('the %s has the heap that was measured, whoever starts it', (name) => {
  const main = new RegExp(`node\\b.*src/${name.toLowerCase()}/main\\.[jt]s`);
  for (const file of WAYS) {
    const started = read(file).filter((line) => main.test(line));
    expect(started.length).toBeGreaterThan(0);
    for (const line of started)
      expect([file, line.match(/--m[a-z-]+-size=\d+/g)]).toEqual([file, HEAP[name]]);
  }
});
