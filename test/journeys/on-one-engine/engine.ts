import type { TestEngine } from '../../support/engine';

/** What ends or slows no process shares one engine: its starts would cost more than the stories. */
export let engine: TestEngine;

export function share(started: TestEngine): void {
  engine = started;
}
