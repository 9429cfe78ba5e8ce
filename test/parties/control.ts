import type { Said } from './bank';
import type { LedgerEntry, Rule } from './simulated-bank';
import type { Attempt, Fault, ReceivedEvent } from './receiver';

/** One poll; short enough that a deadline is met to within it. */
const POLL_MS = 1_000;

/**
 * The owner's hand on a simulated merchant, in this process or another: over HTTP in both cases.
 */
export class PartyControl {
  private readonly events: ReceivedEvent[] = [];

  constructor(readonly url: string) {}

  get webhookUrl(): string {
    return `${this.url}/webhooks`;
  }

  /**
   * The first event, since the party started, for which `isIt` holds.
   *
   * @param what said in the error, e.g. "the outcome of brq_…"
   * @throws Error listing what came in its place, once `withinMs` have passed
   */
  async waitFor(
    what: string,
    isIt: (event: ReceivedEvent) => boolean,
    withinMs: number,
  ): Promise<ReceivedEvent> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      const found = this.events.find(isIt);
      if (found) return found;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) {
        const came = this.events.map(({ type, item }) => `${type} ${JSON.stringify(item)}`);
        throw new Error(`${what} did not come within ${withinMs} ms; these did:\n${came.join('\n')}`);
      }
      await this.read(Math.min(leftMs, POLL_MS));
    }
  }

  async received(): Promise<readonly ReceivedEvent[]> {
    await this.read(0);
    return this.events;
  }

  attempts(): Promise<Attempt[]> {
    return this.ask('GET', '/control/attempts');
  }

  async misbehave(fault: Fault): Promise<void> {
    await this.ask('POST', '/control/faults', fault);
  }

  private async read(waitMs: number): Promise<void> {
    const after = this.events.length;
    const more = await this.ask<ReceivedEvent[]>('GET', `/control/events?after=${after}&waitMs=${waitMs}`);
    // Two waits may poll side by side; each event is kept once.
    this.events.push(...more.filter((event) => event.n > this.events.length));
  }

  protected async ask<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(this.url + path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  }
}

/** The same for a simulated bank, which also takes rules and keeps a ledger. */
export class BankControl extends PartyControl {
  async rule(rule: Rule): Promise<void> {
    await this.ask('POST', '/control/rules', rule);
  }

  ledger(): Promise<LedgerEntry[]> {
    return this.ask('GET', '/control/ledger');
  }

  answers(): Promise<Said[]> {
    return this.ask('GET', '/control/answers');
  }
}
