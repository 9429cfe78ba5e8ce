import { Tally } from './tally';

const told = (id: string) => ({ type: 'billing.request', item: { billingRequestId: id } });

describe('the tally of what a bank was told', () => {
  it('is even where its feed has all that it received, in whatever order', () => {
    const tally = new Tally();
    for (const id of ['brq_1', 'brq_2', 'brq_1']) tally.add(told(id));
    for (const id of ['brq_2', 'brq_1', 'brq_1']) tally.take(told(id));
    expect(tally.left).toEqual({ added: 0, taken: 0 });
  });

  it('finds what a bank received twice, and what it never received', () => {
    const tally = new Tally();
    for (const id of ['brq_1', 'brq_1']) tally.add(told(id));
    for (const id of ['brq_1', 'brq_2']) tally.take(told(id));
    expect(tally.left).toEqual({ added: 1, taken: 1 });
  });
});
