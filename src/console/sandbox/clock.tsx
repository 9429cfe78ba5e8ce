import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { money } from '../parts/money';
import { momentIn } from '../parts/time';
import { Said } from './parts';
import { useAct } from './server';
import { STEPS, type Charge, type SandboxState, type Step } from './state';
import { standingOf, STEP_WORDS } from './words';

/** Most schedules of the page are monthly. */
const FIRST_STEP = STEPS.indexOf('P1M');

export function Clock({ state, isNext }: { state: SandboxState; isNext: boolean }) {
  const { clock, timeZone, trouble } = state;
  const [at, setAt] = useState(FIRST_STEP);
  const act = useAct();
  const step: Step = STEPS[at] ?? 'P1M';
  const isMoving = clock.target !== null;
  const day = momentIn(timeZone, 'day');
  return (
    <section class={`card stack clock ${isNext ? 'next' : ''}`} aria-labelledby="clock">
      <div class="row apart">
        <h2 id="clock">The test clock</h2>
        <p class="number" role="status">
          {isMoving && clock.target !== null
            ? `Moving to ${day(clock.target)}: it is ${day(clock.now)} …`
            : momentIn(timeZone, 'minute')(clock.now)}
        </p>
      </div>
      <div class="row mover">
        <label>
          How far
          <input
            type="range"
            min={0}
            max={STEPS.length - 1}
            step={1}
            value={at}
            aria-valuetext={STEP_WORDS[step]}
            onInput={({ currentTarget }) => setAt(Number(currentTarget.value))}
          />
        </label>
        <button
          type="button"
          class={isNext ? 'first' : ''}
          disabled={act.isBusy || isMoving || trouble !== null}
          onClick={() => void act.press('advance', { by: step })}
        >
          Move the clock by {STEP_WORDS[step]}
        </button>
        {act.outcome?.isGood === false && <Said outcome={act.outcome} />}
      </div>
      <Months state={state} />
    </section>
  );
}

/** Further months would be scrolled out of sight. */
const MONTHS_MAX = 24;
/** Three rows of two: a taller column leaves the card blank while it is scrolled out of sight. */
const CHARGES_OF_MONTH_MAX = 6;

/** A column for each month, with the charges made in it. */
function Months({ state: { charges, clock, timeZone, customers } }: { state: SandboxState }) {
  const scrolled = useRef<HTMLDivElement>(null);
  const oldest = charges.at(-1);
  const newestMonth = monthKey(clock.now, timeZone);
  useLayoutEffect(() => {
    scrolled.current?.scrollTo({ left: scrolled.current.scrollWidth });
  }, [newestMonth, oldest === undefined]);
  if (!oldest)
    return <p class="quiet small">Each charge will stand here, in the month in which it is made.</p>;
  const months = monthsBetween(oldest.at, newestMonth, timeZone).slice(-MONTHS_MAX);
  const day = momentIn(timeZone, 'day');
  const nameOf = (charge: Charge) =>
    customers.find(({ customerId }) => customerId === charge.customerId)?.name ?? '';
  return (
    <div ref={scrolled} class="scrolled" tabIndex={0} role="group" aria-label="Charges by month">
      <ol class="months">
        {months.map((month) => {
          const made = charges.filter(({ at }) => monthKey(at, timeZone) === month.key);
          const earlier = Math.max(0, made.length - CHARGES_OF_MONTH_MAX);
          return (
            <li key={month.key}>
              <ul>
                {earlier > 0 && (
                  <li class="dot more">
                    +{earlier}
                    <span class="heard-only"> earlier charges</span>
                  </li>
                )}
                {made
                  .slice(0, CHARGES_OF_MONTH_MAX)
                  .toReversed()
                  .map((charge) => {
                    const { tone, mark, words } = standingOf(charge);
                    const all = `${day(charge.at)}: ${money(charge.amount, charge.currency)}, ${nameOf(charge)}, ${words}`;
                    return (
                      <li key={charge.billingRequestId} class={`dot ${tone}`} title={all}>
                        <span aria-hidden="true">{mark}</span>
                        <span class="heard-only">{all}</span>
                      </li>
                    );
                  })}
              </ul>
              <span class="small quiet">{month.name}</span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** `2026-11`, by the zone's calendar. */
function monthKey(moment: string, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { year: 'numeric', month: '2-digit', timeZone }).format(
    new Date(moment),
  );
}

/** @param end key of the last month */
function monthsBetween(first: string, end: string, timeZone: string): { key: string; name: string }[] {
  const [year = 0, month = 1] = monthKey(first, timeZone).split('-').map(Number);
  const months: { key: string; name: string }[] = [];
  // The limit, a thousand years, bounds the loop for a clock that was moved very far.
  for (let n = 0; n < 12_000; n++) {
    const date = new Date(Date.UTC(year, month - 1 + n, 15)).toISOString();
    const key = date.slice(0, 7);
    const name = new Intl.DateTimeFormat('en-GB', {
      month: 'short',
      year: '2-digit',
      timeZone: 'UTC',
    }).format(new Date(date));
    months.push({ key, name });
    if (key >= end) break;
  }
  return months;
}
