import path from 'node:path';

/**
 * What is measured is what is shipped: engine and floors run from `dist`, which `npm run bench`
 * builds first.
 */
export const built = (file: string) => path.join(__dirname, '../dist', `${file}.js`);

/** A module of the build, by the type of its source. */
export async function importBuilt<Module>(file: string): Promise<Module> {
  return (await import(built(file))) as Module;
}
