import { readTraceparent, traceparentOf } from '../../../src/domain/workflow/trace-context';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('a traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Further flags are of later levels, and a later version may have more parts.
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-fe`, false],
    [`cc-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('%s joins the caller’s trace', (text, sampled) => {
    expect(readTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  });

  it.each([
    [undefined],
    [''],
    [`00-${TRACE}-${SPAN}`],
    [`00-${TRACE}-${SPAN}-1`],
    [`00-${TRACE}-${SPAN}-01-more`],
    [`00-${TRACE}-${SPAN}-01-`],
    [`cc-${TRACE}-${SPAN}-01.more`],
    [`cc-${TRACE}-${SPAN}-01-${'a'.repeat(201)}`],
    [`ff-${TRACE}-${SPAN}-01`],
    [`0-${TRACE}-${SPAN}-01`],
    [`00-${TRACE.toUpperCase()}-${SPAN}-01`],
    [`00-${'0'.repeat(32)}-${SPAN}-01`],
    [`00-${TRACE}-${'0'.repeat(16)}-01`],
    [`00-${TRACE.slice(1)}g-${SPAN}-01`],
    [` 00-${TRACE}-${SPAN}-01`],
    // Two headers, as Node joins them.
    [`00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])('%s is no traceparent: the call is as without one', (text) => {
    expect(readTraceparent(text)).toBeUndefined();
  });

  it('says to others what was read', () => {
    for (const text of [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`]) {
      const context = readTraceparent(text);
      expect(context && traceparentOf(context)).toBe(text);
    }
  });
});
