import { ConfigError, readConfig } from '../src/config';

describe('the accepted currencies', () => {
  it('are those of ISO 4217 that have a minor unit', () => {
    expect(readConfig({ ACCEPTED_CURRENCIES: 'NGN, JPY,KWD' }).ACCEPTED_CURRENCIES).toEqual([
      'NGN',
      'JPY',
      'KWD',
    ]);
  });

  it.each(['NGX', 'ngn', 'XAU', 'NGN,', 'NGN JPY'])('are not %j, and nothing starts', (text) => {
    expect(() => readConfig({ ACCEPTED_CURRENCIES: text })).toThrow(ConfigError);
    expect(() => readConfig({ ACCEPTED_CURRENCIES: text })).toThrow(/ACCEPTED_CURRENCIES.*ISO 4217/);
  });
});
