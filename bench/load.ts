/** Longest that one unit may take before the whole run is given up: something is lost then. */
const UNIT_WITHIN_MS = 120_000;

/**
 * Does `units` pieces of work, `atOnce` of them at any time.
 *
 * @param work is given the number of the piece, counted from 0
 * @throws Error with the first failure, or where one piece takes longer than two minutes
 */
export async function inFlight(
  units: number,
  atOnce: number,
  work: (unit: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < units) {
      const unit = next++;
      await within(UNIT_WITHIN_MS, `unit ${unit}`, work(unit));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, units) }, lane));
}

/** @throws Error naming `what` where the promise takes longer */
async function within<Result>(ms: number, what: string, promise: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not done within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Things that somebody waits for and that somebody else reports, in either order. */
export class Arrivals {
  private readonly arrived = new Map<string, number>();
  private readonly waiting = new Map<string, (at: number) => void>();

  /** @param at by `performance.now()` */
  report(id: string, at = performance.now()): void {
    if (this.arrived.has(id)) return;
    this.arrived.set(id, at);
    this.waiting.get(id)?.(at);
    this.waiting.delete(id);
  }

  /** When it was first reported, by `performance.now()`. */
  of(id: string): Promise<number> {
    const at = this.arrived.get(id);
    if (at !== undefined) return Promise.resolve(at);
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }
}
