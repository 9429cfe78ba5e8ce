import { Client, Connection } from '@temporalio/client';
import { HEAP } from '../../src/start/own-program';
import { startScript, type Child } from '../../test/parties/process';
import { built } from '../build';
import { Arrivals, inFlight } from '../load';
import { FLOOR_TASK_QUEUE, type FloorMessage } from './worker';

type Shape = 'local' | 'sleeper';

/** No-op workflows on the engine's own Temporal, with a worker of their own. */
export class TemporalFloor {
  private readonly asked = new Arrivals();
  private readonly finished = new Arrivals();
  private readonly ids: Record<Shape, string[]> = { local: [], sleeper: [] };

  private constructor(
    private readonly client: Client,
    private readonly stopWorker: () => Promise<void>,
  ) {}

  static async start(address: string, namespace: string): Promise<TemporalFloor> {
    const connection = await Connection.connect({ address });
    let worker: Child<unknown> | undefined;
    const floor = new TemporalFloor(new Client({ connection, namespace }), async () => {
      await worker?.stop();
      await connection.close();
    });
    const environment = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
    const listen = (said: unknown) => {
      const message = said as FloorMessage;
      if (message === 'ready') return;
      if ('asked' in message) floor.asked.report(message.asked);
      else floor.finished.report(message.finished);
    };
    worker = await startScript(built('bench/floor/worker'), environment, { listen, flags: HEAP.worker });
    return floor;
  }

  /**
   * Runs them, `atOnce` at any time: each is started, signalled as soon as it has asked, as a bank
   * answers that does not think, and done when its last activity is.
   */
  async run(workflows: number, atOnce: number): Promise<void> {
    await inFlight(workflows, atOnce, async () => {
      const id = this.nextId('local');
      const handle = await this.begin('local', id);
      await this.asked.of(id);
      await handle.signal('answered');
      await this.finished.of(id);
    });
  }

  /**
   * Lets them all sleep until one moment.
   *
   * @param at milliseconds since 1970; they must all be asleep by then
   * @returns of each, when it was done, by `performance.now()`
   */
  async sleepUntil(at: number, workflows: number, atOnce: number): Promise<Promise<number>[]> {
    const done: Promise<number>[] = [];
    await inFlight(workflows, atOnce, async () => {
      const id = this.nextId('sleeper');
      await this.begin('sleeper', id, at);
      done.push(this.finished.of(id));
    });
    return done;
  }

  /** Ids of the last few of a shape. */
  someOf(shape: Shape, most: number): string[] {
    return this.ids[shape].slice(-most);
  }

  /** How many events the history of each of these workflows holds; they may be anybody's. */
  historyLengths(workflowIds: string[]): Promise<number[]> {
    return Promise.all(
      workflowIds.map(async (id) => (await this.client.workflow.getHandle(id).describe()).historyLength),
    );
  }

  stop(): Promise<void> {
    return this.stopWorker();
  }

  private begin(shape: Shape, id: string, ...more: unknown[]) {
    return this.client.workflow.start(shape, {
      workflowId: id,
      taskQueue: FLOOR_TASK_QUEUE,
      args: [id, ...more],
    });
  }

  private nextId(shape: Shape): string {
    const id = `floor-${shape}-${this.ids[shape].length}`;
    this.ids[shape].push(id);
    return id;
  }
}
