import { writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { ERRORS_PAGE, errorsPage } from './errors-page';

async function main(): Promise<void> {
  const style = await resolveConfig(ERRORS_PAGE);
  await writeFile(ERRORS_PAGE, await format(errorsPage(), { ...style, parser: 'markdown' }));
}

void main();
