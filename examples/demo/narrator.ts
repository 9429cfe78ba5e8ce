import { styleText } from 'node:util';
import { OperatorError } from '../../src/domain/failures';

/** A promise of the story that was not kept; its message is for whoever watches. */
class StoryError extends OperatorError {
  override readonly name = 'StoryError';
}

/** @throws StoryError unless `kept` */
export function holds(kept: boolean, otherwise: string): asserts kept {
  if (!kept) throw new StoryError(otherwise);
}

/** Adds a line below a step's title, with the workflow to look at, where there is one. */
export type Say = (line: string, workflowId?: string) => void;

/** Prints the story, step by step; in colour on a terminal only. */
export class Narrator {
  private step = 0;

  /**
   * @param temporalUiUrl without a trailing slash; unknown where Temporal is a given one
   * @param namespace the Temporal namespace that the engine works in
   */
  constructor(
    private readonly temporalUiUrl: string | undefined,
    private readonly namespace: string,
  ) {}

  /**
   * Plays one step of the story.
   *
   * @throws StoryError where it takes longer than `withinMs`, and whatever the step throws
   */
  async tell<Result>(
    title: string,
    act: (say: Say) => Promise<Result>,
    withinMs = STEP_WITHIN_MS,
  ): Promise<Result> {
    this.step += 1;
    const startedAt = Date.now();
    console.log(`\n${paint('bold', `${String(this.step).padStart(2)}. ${title}`)}`);
    const result = await within(withinMs, `step ${this.step}, "${title}",`, act(this.say));
    console.log(paint('dim', `    ${Date.now() - startedAt} ms`));
    return result;
  }

  private readonly say: Say = (line, workflowId) => {
    console.log(`    ${line}`);
    if (workflowId === undefined) return;
    if (this.temporalUiUrl === undefined) {
      console.log(`    → workflow ${workflowId}`);
      return;
    }
    const url = `${this.temporalUiUrl}/namespaces/${this.namespace}/workflows/${encodeURIComponent(workflowId)}`;
    console.log(`    ${paint('cyan', `→ ${url}`)}`);
  };
}

/** Every step takes a second or two; this leaves room for a machine that does much else. */
const STEP_WITHIN_MS = 30_000;

async function within<Result>(ms: number, what: string, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoryError(`${what} did not end within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function paint(style: 'bold' | 'dim' | 'cyan' | 'green' | 'red', text: string): string {
  return process.stdout.isTTY ? styleText(style, text) : text;
}
