import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { money } from '../parts/money';
import { momentIn } from '../parts/time';
import { PaymentStory } from '../parts/timeline';
import { ChargeItem, nameOf } from './charged';
import { useStory } from './server';
import type { Charge, SandboxState } from '../../../sandbox/src/state';
import { skipWords, standingOf } from './words';

/** Older months would be scrolled far out of sight. */
const MONTHS_MAX = 24;
/** A year stands ready from the start, so that months are seen to fill. */
const MONTHS_MIN = 12;
/** Two columns of four: a taller month would leave the others blank above. */
const MARKS_OF_MONTH_MAX = 8;

/** A mark in its month: a charge, which opens its story, a skipped due date, or the next one. */
interface Mark {
  key: string;
  at: string;
  kind: string;
  glyph: string;
  words: string;
  charge?: Charge;
}

export function Months({ state }: { state: SandboxState }) {
  const { charges, clock, timeZone } = state;
  const [openId, setOpen] = useState<string>();
  const scrolled = useRef<HTMLDivElement>(null);
  const monthOf = monthsIn(timeZone);
  const now = monthOf(clock.now);
  const marks = marksOf(state);
  const months = monthsAround(marks[0] ? monthOf(marks[0].at) : now, now);
  useLayoutEffect(() => {
    const [box, month] = [scrolled.current, scrolled.current?.querySelector<HTMLElement>('.now')];
    if (box && month) box.scrollTo({ left: month.offsetLeft + month.offsetWidth - box.clientWidth });
  }, [now, months.length]);
  const open = charges.find(({ billingRequestId }) => billingRequestId === openId);
  const close = () => {
    scrolled.current?.querySelector<HTMLElement>('[aria-expanded="true"]')?.focus();
    setOpen(undefined);
  };
  return (
    <>
      <div ref={scrolled} class="scrolled" tabIndex={0} role="group" aria-label="Charges by month">
        <ol class="months">
          {months.map((month) => {
            const all = marks.filter(({ at }) => monthOf(at) === month);
            const shown = all.slice(-MARKS_OF_MONTH_MAX);
            return (
              <li key={month} class={month === now ? 'now' : month > now ? 'ahead' : ''}>
                <ul class="marks">
                  {all.length > shown.length && (
                    <li class="small">
                      +{all.length - shown.length}
                      <span class="visually-hidden"> earlier</span>
                    </li>
                  )}
                  {shown.map((mark) => (
                    <li key={mark.key}>
                      <MarkItem mark={mark} openId={openId} open={setOpen} />
                    </li>
                  ))}
                </ul>
                <progress aria-hidden="true" max={31} value={elapsed(month, now, clock.now)} />
                <span class="small" aria-current={month === now ? 'date' : undefined}>
                  {nameOfMonth(month)}
                </span>
              </li>
            );
          })}
        </ol>
      </div>
      {charges.length === 0 ? (
        <p class="quiet small">
          Nothing is charged yet: press “Charge once” in the shop, and its mark stands here.
        </p>
      ) : (
        <Legend />
      )}
      {open && <Story key={openId} charge={open} state={state} close={close} />}
    </>
  );
}

function MarkItem({
  mark: { kind, glyph, words, charge },
  openId,
  open,
}: {
  mark: Mark;
  openId: string | undefined;
  open: (id: string | undefined) => void;
}) {
  const inside = (
    <>
      <span aria-hidden="true">{glyph}</span>
      <span class="visually-hidden">{words}</span>
    </>
  );
  if (!charge) {
    return (
      <span class={`dot ${kind}`} title={words}>
        {inside}
      </span>
    );
  }
  const id = charge.billingRequestId;
  const isOpen = openId === id;
  return (
    <button
      type="button"
      class={`dot ${kind}`}
      title={words}
      aria-expanded={isOpen}
      onClick={() => open(isOpen ? undefined : id)}
    >
      {inside}
    </button>
  );
}

const LEGEND = [
  ['good', '✓', 'paid'],
  ['bad', '✕', 'declined'],
  ['wait', '…', 'waits'],
  ['', '↺', 'refunded'],
  ['retry', '', 'round: tried again'],
  ['skip', '–', 'skipped'],
  ['due', '', 'due next'],
] as const;

function Legend() {
  return (
    <p class="row small quiet legend">
      {LEGEND.map(([kind, glyph, words]) => (
        <span key={words} class="row">
          <span class={`dot ${kind}`} aria-hidden="true">
            {glyph}
          </span>
          {words}
        </span>
      ))}
      <span>Press a charge for its story.</span>
    </p>
  );
}

/** A charge, with its events and timeline. */
function Story({ charge, state, close }: { charge: Charge; state: SandboxState; close: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const { told, error } = useStory(charge);
  return (
    <section
      class="story stack"
      aria-labelledby="story"
      onKeyDown={({ key }) => {
        if (key === 'Escape') close();
      }}
    >
      <div class="row apart">
        <h3 id="story" ref={heading} tabIndex={-1}>
          The story of this charge
        </h3>
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </div>
      <ul class="items">
        <ChargeItem charge={charge} state={state} />
      </ul>
      {told && <PaymentStory of={told} moment={momentIn(state.timeZone, 'second')} />}
      {error !== undefined && <p class="notice bad small">{error}</p>}
    </section>
  );
}

/** Oldest first. */
function marksOf(state: SandboxState): Mark[] {
  const { charges, schedules, timeZone } = state;
  const day = momentIn(timeZone, 'day');
  const charged = charges.map((charge): Mark => {
    const { tone, mark, words } = standingOf(charge, state);
    const { billingRequestId: key, createdAt: at, attempt, amount, currency } = charge;
    const tried = attempt > 1 ? `, try ${attempt}` : '';
    return {
      key,
      at,
      kind: `${tone} ${attempt > 1 ? 'retry' : ''}`,
      glyph: mark,
      words: `${day(at)}: ${money(amount, currency)}, ${nameOf(state, charge.customerId)}, ${words}${tried}`,
      charge,
    };
  });
  const around = schedules.flatMap(({ scheduleId, customerId, skips, status, nextBillingDate }): Mark[] => {
    const name = nameOf(state, customerId);
    const skipped = skips.map(({ at, reason }) => ({
      key: `${scheduleId} ${at}`,
      at,
      kind: 'skip',
      glyph: '–',
      words: `${day(at)}: ${name}, skipped${skipWords(reason)}`,
    }));
    if (status !== 'active' || nextBillingDate === null) return skipped;
    const words = `${day(nextBillingDate)}: ${name}, due next`;
    return [...skipped, { key: `${scheduleId} next`, at: nextBillingDate, kind: 'due', glyph: '', words }];
  });
  return [...charged, ...around].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** To `2026-11`, by the zone's calendar. */
function monthsIn(timeZone: string): (moment: string) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { year: 'numeric', month: '2-digit', timeZone });
  return (moment) => format.format(new Date(moment));
}

/** The months from the first on: a year at least, and what the clock has passed. */
function monthsAround(first: string, now: string): string[] {
  const count = Math.max(MONTHS_MIN, numberOf(now) - numberOf(first) + 2);
  const from = numberOf(first) + Math.max(0, count - MONTHS_MAX);
  return Array.from({ length: Math.min(count, MONTHS_MAX) }, (_, n) =>
    dateOf(from + n)
      .toISOString()
      .slice(0, 7),
  );
}

function numberOf(month: string): number {
  const [year = 0, ofYear = 1] = month.split('-').map(Number);
  return year * 12 + ofYear - 1;
}

const dateOf = (number: number) => new Date(Date.UTC(Math.floor(number / 12), number % 12, 15));

const NAME = new Intl.DateTimeFormat('en-GB', { month: 'short', year: '2-digit', timeZone: 'UTC' });
const nameOfMonth = (month: string) => NAME.format(dateOf(numberOf(month)));

/** Days of the month that have passed. */
function elapsed(month: string, now: string, moment: string): number {
  if (month === now) return new Date(moment).getUTCDate();
  return month < now ? 31 : 0;
}
