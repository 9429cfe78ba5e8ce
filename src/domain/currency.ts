/**
 * The currencies of ISO 4217, list one, as of January 2026, by the decimals of their minor unit.
 *
 * `Intl` does not serve, for it tells how people write prices. It gives the forint, the rupiah and
 * the Colombian peso no decimals, where ISO 4217 gives them two. Codes without a minor unit
 * (metals, XDR, XTS, XXX …) cannot be charged and are left out, as are withdrawn codes.
 */
const CODES_BY_DECIMALS: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF
     CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL
     HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU
     MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR
     SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED
     VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const DECIMALS: ReadonlyMap<string, number> = new Map(
  CODES_BY_DECIMALS.flatMap(([decimals, codes]) => codes.split(/\s+/).map((code) => [code, decimals])),
);

export const CURRENCIES: readonly string[] = [...DECIMALS.keys()];

/** Most decimals of an amount: 2 for NGN, 0 for JPY; undefined for an unknown currency. */
export function minorUnitDigits(currency: string): number | undefined {
  return DECIMALS.get(currency);
}
