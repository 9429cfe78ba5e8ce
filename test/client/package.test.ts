import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const CLIENT = path.join(ROOT, 'packages/client');

test('what npm packs of a fresh clone is built, has its licence, and leads nowhere out of the package', () => {
  const clone = mkdtempSync(path.join(tmpdir(), 'assent-clone-'));
  try {
    for (const file of ['package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(path.join(ROOT, file), path.join(clone, file));
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(clone, 'node_modules'));
    cpSync(CLIENT, path.join(clone, 'packages/client'), {
      recursive: true,
      filter: (file) => path.basename(file) !== 'dist',
    });
    execFileSync('npm', ['pack', '--silent'], { cwd: path.join(clone, 'packages/client') });
    const { version } = JSON.parse(readFileSync(path.join(CLIENT, 'package.json'), 'utf8')) as {
      version: string;
    };
    const packed = path.join(clone, 'packages/client', `assent-client-${version}.tgz`);
    execFileSync('tar', ['xzf', packed], { cwd: clone });
    const read = (file: string) => readFileSync(path.join(clone, 'package', file), 'utf8');
    expect(read('dist/index.js')).toContain('AssentClient');
    expect(read('dist/api.generated.d.ts')).toContain('BillCustomersBodyByMerchant');
    expect(read('LICENSE')).toBe(readFileSync(path.join(ROOT, 'LICENSE'), 'utf8'));
    const links = [...read('README.md').matchAll(/\]\(([^)]+)\)/g)].map(([, to = '']) => to);
    expect(links.filter((to) => !to.startsWith('#') && !to.startsWith('https:'))).toEqual([]);
    expect(read('README.md')).toContain(`npm install ./${path.basename(packed)}`);
  } finally {
    rmSync(clone, { recursive: true });
  }
});
