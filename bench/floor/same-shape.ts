import { HEAP } from '../../src/start/own-program';
import { ApiClient } from '../../test/parties/client';
import { Operator } from '../../test/parties/operator';
import { PartyControl } from '../../test/parties/control';
import {
  PartyProcesses,
  startBankProcess,
  startMerchantProcess,
  startScript,
} from '../../test/parties/process';
import type { Biller } from '../biller';
import { built } from '../build';
import type { BenchEngine } from '../engine';

/**
 * The floor *same shape* (`charge.ts`) with a bank and a merchant of its own, which are those of
 * the engine: they check signatures, ask for tokens and answer as fast.
 */
export class SameShapeFloor {
  private constructor(
    private readonly processes: PartyProcesses,
    readonly merchant: Biller,
  ) {}

  static async start(
    engine: BenchEngine,
    environment: NodeJS.ProcessEnv,
    like: Biller,
  ): Promise<SameShapeFloor> {
    const operator = new Operator(engine.folder, environment);
    const bank = await operator.createEntity('bank', 'Floor bank');
    const merchant = await operator.createEntity('merchant', 'Floor merchant');
    const processes = new PartyProcesses();
    try {
      const url = await processes.urlOf(
        startScript(
          built('bench/floor/charge'),
          {
            API_URL: engine.apiUrl,
            DATABASE_URL: engine.ownerUrl,
            TEMPORAL_ADDRESS: engine.temporalAddress,
            TEMPORAL_NAMESPACE: engine.namespace,
            BANK_SECRET: bank.webhookSecret,
            MERCHANT_SECRET: merchant.webhookSecret,
          },
          { flags: HEAP.worker },
        ),
      );
      const bankControl = new PartyControl(await processes.urlOf(startBankProcess(url, bank)));
      const control = new PartyControl(await processes.urlOf(startMerchantProcess(merchant)));
      for (const [party, { webhookUrl }] of Object.entries({ bank: bankControl, merchant: control })) {
        await fetch(`${url}/endpoints/${party}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ url: webhookUrl }),
        });
      }
      return new SameShapeFloor(processes, like.likeWith(new ApiClient([url], merchant), control));
    } catch (error) {
      await processes.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.merchant.close();
    await this.processes.stop();
  }
}
