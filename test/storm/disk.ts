import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '../../src/domain/failures';

const PIECE = Buffer.alloc(64 * 1024);
/** Postgres needs it to start. */
const LEAST_MB = 300;
/** A larger one would take long to fill, and is somebody's own. */
const MOST_MB = 2_000;

/** The file system that Postgres' data is on, where it may be filled. */
export class Disk {
  private folder: string | undefined;

  /** @param given on a file system that nobody else needs; undefined where none may be filled */
  constructor(private readonly given: string | undefined) {}

  place(otherwise: string): string {
    if (this.given === undefined) return otherwise;
    const { bsize, blocks } = statfsSync(this.given);
    const megabytes = (bsize * blocks) / 2 ** 20;
    if (megabytes < LEAST_MB || megabytes > MOST_MB) {
      throw new OperatorError(
        `--disk: the file system of ${this.given} has ${Math.round(megabytes)} MB. It is going to be filled, so ` +
          `it must be one of its own, of ${LEAST_MB} to ${MOST_MB} MB.`,
      );
    }
    this.folder = mkdtempSync(path.join(this.given, 'assent-storm-'));
    chmodSync(this.folder, 0o711);
    return this.folder;
  }

  fill(): () => void {
    const ballast = openSync(this.ballast, 'w', 0o600);
    try {
      for (;;) writeSync(ballast, PIECE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(ballast);
    }
    return () => this.free();
  }

  free(): void {
    if (this.folder !== undefined) rmSync(this.ballast, { force: true });
  }

  clear(): void {
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  private get ballast(): string {
    if (this.folder === undefined) throw new Error('no disk was given');
    return path.join(this.folder, 'ballast');
  }
}
