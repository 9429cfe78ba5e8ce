import path from 'node:path';

/**
 * A file of the build. Engine and floors run from `dist`, as they are shipped; `npm run bench`
 * builds it first.
 */
export const built = (file: string) => path.join(__dirname, '../dist', `${file}.js`);

/** A module of the build, by the type of its source. */
export async function importBuilt<Module>(file: string): Promise<Module> {
  return (await import(built(file))) as Module;
}
