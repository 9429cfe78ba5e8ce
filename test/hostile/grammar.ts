import * as fc from 'fast-check';

/*
 * Hostile texts of any length: a beginning, one small piece again and again for half of it, a piece
 * in between, another piece for the rest, and an end. A reader that looks at the first half again
 * for each piece of the second needs time by the square.
 */

export interface Grammar {
  /** What a reader has to have met before it takes the rest for its own. */
  opens: readonly string[];
  /** The pieces of which there are many; `#` stands for a number, another one each time. */
  tokens: readonly string[];
  /** Stands once, between the halves and, unless there are others for it, at the end. */
  joins: readonly string[];
  closes?: readonly string[];
}

export interface Shape {
  open: string;
  first: string;
  join: string;
  second: string;
  close: string;
}

const TOKENS_MAX = 3;
const MIXED = 300;

/** By the square where the name before a colon is read again, or each problem is kept. */
export const COLONS: Shape = { open: '{"\\n', first: 'a', join: '"', second: ':', close: '' };
/** What people found in JSON. */
export const KNOWN: readonly Shape[] = [
  COLONS,
  { open: '{"\\n', first: 'a', join: '":', second: '9007199254740993,', close: '' },
  { open: '['.repeat(15), first: '[],', join: '', second: '[[]],', close: '' },
];

/**
 * Shapes that people found, each piece by itself behind each beginning, and mixtures; always the
 * same, so that a finding is there again.
 *
 * @param part every n-th alone, but for what people found
 */
export function shapesOf({ opens, tokens, joins, closes }: Grammar, part: number): Shape[] {
  const piece = fc
    .array(fc.constantFrom(...tokens), { minLength: 1, maxLength: TOKENS_MAX })
    .map((some) => some.join(''));
  const mixed = fc.record({
    open: fc.constantFrom(...opens),
    first: piece,
    join: fc.constantFrom('', ...joins),
    second: piece,
    close: fc.constantFrom(...(closes ?? ['', ...joins])),
  });
  const pure = opens.flatMap((open) =>
    tokens.map((token) => ({ open, first: token, join: '', second: token, close: closes?.[0] ?? '' })),
  );
  const all = [...pure, ...fc.sample(mixed, { seed: 1, numRuns: MIXED })];
  return [...KNOWN, ...all.filter((_, n) => n % part === 0)];
}

/** @param bytes at most as many, but for the digits of its numbers */
export function textOf({ open, first, join, second, close }: Shape, bytes: number): Buffer {
  const half = (bytes - Buffer.byteLength(open + join + close)) / 2;
  return Buffer.from([open, again(first, half), join, again(second, half), close].join(''));
}

function again(piece: string, bytes: number): string {
  const times = Math.max(0, Math.floor(bytes / Buffer.byteLength(piece)));
  if (!piece.includes('#')) return piece.repeat(times);
  return Array.from({ length: times }, (_, n) => piece.replaceAll('#', String(n))).join('');
}

/** @param tokens with blanks between them, and none within */
const apart = (tokens: string) => tokens.trim().split(/\s+/);

const CHARACTERS = ['a', '0', ' ', '\n', 'é', '😀', '\u0301', '\u0000'];

const JSON_TOKENS = [
  ...apart(String.raw`: , " \ \" \n \u0061 { } [ ] {} 1 - . e9 00000 a é 😀 null 9007199254740993,
    "a":1, "\u0061":1, "#":1, {"a":1,"a":2},`),
  ' ',
];

export const JSON_GRAMMAR: Grammar = {
  opens: ['', '['.repeat(15), ...apart(String.raw`{" {"\n {"a": {"a":" [ [" {"__proto__": "`)],
  tokens: JSON_TOKENS,
  joins: apart('" ": ":" "] "} } ] , {" [" 1'),
};

export const LIST_GRAMMAR: Grammar = {
  opens: apart(String.raw`{"customers":[ {"customers":[{" {"customers":[{"\n {"customers":[{"a":[" {"`),
  tokens: JSON_TOKENS,
  joins: [...JSON_GRAMMAR.joins, '},{', '}]}'],
};

/** JSON, whatever is taken of it, so that it comes to its schema. */
export const OBJECT_GRAMMAR: Grammar = {
  opens: apart('{ {"clientRef":"a", {"email":1,'),
  tokens: [
    ...apart(String.raw`"#":1, "a#":"x", "é#":{}, "\u0301#":[1], "a":1,`),
    '"a b #":null,',
    '" #":"x",',
  ],
  joins: apart('"firstname":1, "x":{"y":[]},'),
  closes: ['"z":1}'],
};

export const ARRAY_GRAMMAR: Grammar = {
  opens: ['['],
  tokens: [...apart(String.raw`"#", "a", 1, {}, [], "\u0301#", "", null,`), '"a #",'],
  joins: [],
  closes: ['"z"]'],
};

const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference\n';

export const CSV_GRAMMAR: Grammar = {
  opens: ['', '"', HEADER, `${HEADER}"`, `${HEADER}t,2026-11-28,1.00,NGN,debit,"`, `\ufeff${HEADER}`],
  tokens: [
    ...apart(`, " "" "," ; ' = reference,`),
    '"\n"',
    '\r',
    '\r\n',
    '\t',
    't#,2026-11-28,1.00,NGN,debit,r\n',
    ',,,,,\n',
    '",,,,,"\n',
    ...CHARACTERS,
  ],
  joins: ['"', '\n', '"\n', ',', '",'],
};

const STATEMENT =
  '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Ntry>';

export const CAMT_GRAMMAR: Grammar = {
  opens: ['', '<', STATEMENT, `${STATEMENT}<Amt `, `${STATEMENT}<Amt Ccy="`, `${STATEMENT}<AcctSvcrRef>`],
  tokens: [
    ...apart(`< > </ /> <a> </a> <a/> b: : " ' = & ; &amp; &#65; &# ] ]]> <![CDATA[ <![CDATA[x]]> <!-- -->
      <!----> - ? <TxDtls/> </Ntry><Ntry>`),
    '<a b="c"/>',
    ' b#="c"',
    ' xmlns:b#="c"',
    ' b:c#="d"',
    '<?p ?>',
    '\r\n',
    ...CHARACTERS,
  ],
  joins: apart('> /> "> "/> --> ]]> ; </Ntry><Ntry> <Sts>BOOK</Sts>'),
};

const PAIR_TOKENS = [
  ...apart(`= & ; % %2 %20 %41 %e2 %e2%82%ac %ff + ? [ ] . a 0 a=1& a#=1& %a#=1& __proto__=1& é 😀`),
  ' ',
];

export const QUERY_GRAMMAR: Grammar = {
  opens: ['', ...apart('a= a & metadata.')],
  tokens: PAIR_TOKENS,
  joins: apart('= & % &a='),
};

export const FORM_GRAMMAR: Grammar = {
  opens: ['', ...apart('grant_type=client_credentials& client_id= client_secret=%')],
  tokens: PAIR_TOKENS,
  joins: apart('= & % &client_id='),
};

/** Any header: only characters that one may have. */
export const HEADER_GRAMMAR: Grammar = {
  opens: [
    '',
    'Basic ',
    'Bearer ',
    'Bearer a.',
    ...apart('assent_console= assent_console=a; " a/b;q= 10.0.0.1, ::ffff: 00-'),
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-',
  ],
  tokens: [
    ...apart(String.raw`; , = " \ / . : % - + * ( [ ] @ a 0 f a=b; assent_console=a; 10.0.0.1, ::1, 1: 0x1.`),
    '%1',
    'a/b,',
    ' ',
    '; ',
    ', ',
    '\t',
  ],
  joins: ['=', ' ', ';', ',', '"', ':', '!'],
};

export const TEXT_GRAMMAR: Grammar = {
  opens: ['', ' ', ...apart('a a@ https:// https://a/ https://a/? 2026-11-28T P1 - 1.')],
  tokens: [
    ...apart(String.raw`- . @ / : % %41 ? # + ( ' " \ _ a. A 1D`),
    ' - ',
    '\u0316',
    '\u0301\u0316',
    '\u202e',
    '\u00a0',
    '\ud800',
    ...CHARACTERS,
  ],
  joins: ['!', '@', '.', ' ', '-', 'a', '\n'],
};
