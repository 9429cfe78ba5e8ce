import { useState } from 'preact/hooks';
import { momentIn } from '../parts/time';
import { Said } from './parts';
import { useAct } from './server';
import { STEPS, type SandboxState, type Step } from '../../../sandbox/src/state';
import { Months } from './months';
import { STEP_WORDS } from './words';

/** Most schedules of the page are monthly. */
const FIRST_STEP = STEPS.indexOf('P1M');

/** The stage of the page: the months, and what moves them on. */
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
