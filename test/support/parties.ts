import { SimulatedBank } from '../parties/simulated-bank';
import { BankControl, PartyControl } from '../parties/control';
import { Receiver } from '../parties/receiver';
import { isId } from '../../src/domain/identifier/ids';
import { defaultContract } from './conformance';

/** An entity gets it when it is made: all that a party needs to take its part. */
export interface PartyIdentity {
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
}

export interface Started<Control extends PartyControl> {
  control: Control;
  stop: () => Promise<void>;
}

/** A simulated bank in the test's own process, still spoken to over HTTP only. */
export async function startBank(apiUrl: string, identity: PartyIdentity): Promise<Started<BankControl>> {
  const bank = new SimulatedBank({ apiUrl, ...identity });
  const port = await bank.listen(0);
  const control = new BankControl(`http://127.0.0.1:${port}`);
  return { control, stop: () => checked(control, () => bank.close()) };
}

/** A simulated merchant in the test's own process. */
export async function startMerchant(
  identity: Pick<PartyIdentity, 'webhookSecret'>,
): Promise<Started<PartyControl>> {
  const merchant = new Receiver(identity.webhookSecret);
  const port = await merchant.listen(0);
  const control = new PartyControl(`http://127.0.0.1:${port}`);
  return { control, stop: () => checked(control, () => merchant.close()) };
}

/**
 * @throws Error where the party was sent a genuine webhook that the API's document does not have so
 */
async function checked(control: PartyControl, stop: () => Promise<void>): Promise<void> {
  // One that was killed cannot say what it got.
  const attempts = await control.attempts().catch(() => []);
  await stop();
  const wrong = attempts
    // A webhook that a test makes up has another form of id.
    .filter(({ outcome, deliveryId }) => outcome !== 'forged' && isId('delivery', deliveryId))
    .flatMap(({ type, body }) => {
      const problems = defaultContract().webhookProblemsOf(type, body);
      return problems.length === 0 ? [] : [`${type}:\n- ${problems.join('\n- ')}\n${body.slice(0, 1000)}`];
    });
  if (wrong.length > 0) throw new Error(`webhooks are not as /openapi.json has them:\n${wrong.join('\n\n')}`);
}
