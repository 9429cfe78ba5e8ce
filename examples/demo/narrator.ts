import { styleText } from 'node:util';
import { OperatorError } from '../../src/domain/failures';
import { withDeadline } from '../../src/process/deadline';

/** A promise of the story that was not kept; its message is for whoever watches. */
class StoryError extends OperatorError {
  override readonly name = 'StoryError';
}

export function holds(kept: boolean, otherwise: string): asserts kept {
  if (!kept) throw new StoryError(otherwise);
}

/** Adds a line below a step's title, with the workflow to look at, where there is one. */
export type Say = (line: string, workflowId?: string) => void;

/** Prints the story, step by step; in colour on a terminal only. */
export class Narrator {
  private step = 0;

  constructor(
    private readonly temporalUiUrl: string | undefined,
    private readonly namespace: string,
  ) {}

  async tell<Result>(title: string, act: (say: Say) => Promise<Result>): Promise<Result> {
    this.step += 1;
    const startedAt = Date.now();
    console.log(`\n${paint('bold', `${String(this.step).padStart(2)}. ${title}`)}`);
    const result = await withDeadline(act(this.say), STEP_WITHIN_MS, () => {
      throw new StoryError(`step ${this.step}, "${title}", did not end within ${STEP_WITHIN_MS / 1000} s`);
    });
    console.log(paint('dim', `    ${Date.now() - startedAt} ms`));
    return result;
  }

  private readonly say: Say = (line, workflowId) => {
    console.log(`    ${line}`);
    if (workflowId === undefined) return;
    if (this.temporalUiUrl === undefined) return console.log(`    → workflow ${workflowId}`);
    const url = `${this.temporalUiUrl}/namespaces/${this.namespace}/workflows/${encodeURIComponent(workflowId)}`;
    console.log(`    ${paint('cyan', `→ ${url}`)}`);
  };
}

/** Every step takes a second or two; this leaves room for a machine that does much else. */
const STEP_WITHIN_MS = 30_000;

export function paint(style: 'bold' | 'dim' | 'cyan' | 'green' | 'red', text: string): string {
  return process.stdout.isTTY ? styleText(style, text) : text;
}
