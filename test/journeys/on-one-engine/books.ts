import { Cast } from '../../support/cast';
import { runAssent } from '../../support/cli';
import { engine } from './engine';

/** Comes last: it compares all that the journeys before it have written through the API. */
describe('the books', () => {
  let cast: Cast;
  beforeAll(() => {
    cast = new Cast(engine);
  });
  afterAll(() => cast.leave());

  test('show no difference, also after a bill by lookupID whose answer grants a standing approval', async () => {
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    await bank.answerCharges('approve_recurring');
    const { billingRequestId } = await merchant.charge({ lookupIDs: [bank.customers[0].lookupID] }, 40);
    expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({
      status: 'successful',
    });

    expect(await runAssent(['books', 'verify'], engine.environment)).toMatchObject({ code: 0, err: '' });
    const why = await runAssent(['why', billingRequestId, '--json'], engine.environment);
    const { lines } = JSON.parse(why.out) as { lines: { what: string; webhookType?: string }[] };
    expect(lines.filter(({ what }) => what === 'webhook').map(({ webhookType }) => webhookType)).toEqual([
      'billing.request',
      'billing.response',
    ]);
  });
});
