import { useState } from 'preact/hooks';
import { money } from '../parts/money';
import type { GuideStep } from './guide';
import { NO_LIMIT_WORDS, useLimits } from './limits';
import { Said } from './parts';
import { useAct } from './server';
import type { Customer, SandboxState } from '../../../sandbox/src/state';
import { permissionOf, TEMPERAMENTS } from './words';

const CURRENCY = 'NGN';

export function Shop({ state, next }: { state: SandboxState; next: GuideStep | undefined }) {
  const { customers, trouble, prompts, charges, clock } = state;
  const [chosen, choose] = useState('');
  const [amount, setAmount] = useState('1500');
  const [description, setDescription] = useState('A basket of mangoes');
  const { limits, fields } = useLimits(
    { perCharge: '5000', monthly: '50000' },
    (period) => `Asks for a ${period} up to (${CURRENCY})`,
  );
  const pending = charges.filter(({ status, scheduleId }) => status === 'pending' && scheduleId === null);
  const act = useAct(prompts.length + pending.length + (clock.target === null ? 1 : 0));
  const customer = customers.find(({ customerId }) => customerId === chosen) ?? customers[0];
  const isOff = act.isBusy || trouble !== null || customer === undefined;

  const press = (name: 'ask' | 'charge' | 'subscribe') => {
    if (!customer) return;
    const text = description.trim();
    const value = Number(amount.replaceAll(',', ''));
    if (text === '') return act.refuse('Say what it is for: the customer sees it.');
    if (name === 'ask') {
      if (!limits) return act.refuse(NO_LIMIT_WORDS);
      return void act.press('ask', { customerId: customer.customerId, description: text, limits });
    }
    if (!(value > 0) || !/^[\d,]+(\.\d{1,2})?$/.test(amount.trim())) {
      return act.refuse('The amount is in naira: a number above nothing, such as 1500 or 1500.50.');
    }
    return void act.press(name, { customerId: customer.customerId, amount: value, description: text });
  };

  return (
    <section class="card stack shop" aria-labelledby="shop">
      <div>
        <h2 id="shop">The shop: {state.shop.name}</h2>
        <p class="quiet small">What a merchant does, through the API.</p>
      </div>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <label>
          Customer
          <select value={customer?.customerId} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            {customers.map((one) => (
              <option key={one.customerId} value={one.customerId}>
                {one.name}: {TEMPERAMENTS[one.temperament]}
              </option>
            ))}
          </select>
        </label>
        {customer && <Permission customer={customer} />}
        <div class="row fields">
          <label>
            Amount ({CURRENCY})
            <input
              inputMode="decimal"
              value={amount}
              onInput={({ currentTarget }) => setAmount(currentTarget.value)}
            />
          </label>
          <label class="wide">
            For
            <input
              value={description}
              maxLength={200}
              onInput={({ currentTarget }) => setDescription(currentTarget.value)}
            />
          </label>
        </div>
        <div class="row fields">{fields}</div>
        <div class="row">
          {(
            [
              ['charge', 'charge', 'Charge once'],
              ['ask', 'permission', 'Ask for permission'],
              ['subscribe', 'subscribe', 'Charge each month'],
            ] as const
          ).map(([name, step, words]) => (
            <button
              key={name}
              type="button"
              class={next === step ? 'first' : ''}
              disabled={isOff}
              onClick={() => press(name)}
            >
              {words}
            </button>
          ))}
        </div>
        <Said outcome={act.outcome} />
      </form>
    </section>
  );
}

function Permission({ customer }: { customer: Customer }) {
  const { limits, spent } = customer;
  const parts = [
    limits.daily !== null && `${money(spent.daily, CURRENCY)} of ${money(limits.daily, CURRENCY)} today`,
    limits.monthly !== null &&
      `${money(spent.monthly, CURRENCY)} of ${money(limits.monthly, CURRENCY)} this month`,
  ].filter((part) => part !== false);
  return (
    <p class="small quiet">
      {customer.name} {permissionOf(customer)}.{parts.length > 0 && ` Spent: ${parts.join(', ')}.`}
    </p>
  );
}
