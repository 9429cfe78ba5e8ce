import { useState } from 'preact/hooks';
import { money } from '../parts/money';
import { momentIn } from '../parts/time';
import { nameOf } from './charged';
import { NO_LIMIT_WORDS, useLimits } from './limits';
import { Badge, Said } from './parts';
import { useAct } from './server';
import type { Permission, SandboxState } from '../../../sandbox/src/state';
import { PERMISSION_STATES } from './words';

/** Permissions of the customers, for them to change. */
export function Permissions({ state }: { state: SandboxState }) {
  if (state.permissions.length === 0) return null;
  return (
    <div class="stack">
      <h3>What customers allow</h3>
      <ul class="items">
        {state.permissions.map((permission) => (
          <PermissionItem key={permission.id} permission={permission} state={state} />
        ))}
      </ul>
    </div>
  );
}

function PermissionItem({ permission, state }: { permission: Permission; state: SandboxState }) {
  const act = useAct();
  const { id, currency, spendingLimits, spent, pausedUntil, next } = permission;
  const { limits, fields } = useLimits(
    {
      perCharge: String(spendingLimits.perCharge ?? ''),
      daily: String(spendingLimits.daily ?? ''),
      monthly: String(spendingLimits.monthly ?? ''),
    },
    (period) => `A ${period} (${currency})`,
  );
  const [until, setUntil] = useState('');
  const name = nameOf(state, permission.customerId);
  const day = momentIn(state.timeZone, 'day');
  const hasEnded = permission.state === 'revoked' || permission.state === 'expired';
  const setLimits = () => (limits ? void act.press('limit', { id, limits }) : act.refuse(NO_LIMIT_WORDS));
  const button = (words: string, what: string, press: () => void) => (
    <button type="button" disabled={act.isBusy} aria-label={`${words} ${what}`} onClick={press}>
      {words}
    </button>
  );
  const whose = `the permission of ${name}`;
  return (
    <li class="stack">
      <div class="row apart">
        <strong>{name}</strong>
        <Badge standing={PERMISSION_STATES[permission.state]} />
      </div>
      <p class="small">
        {permission.merchant.name}
        {permission.state !== 'revoked' && `: ${permission.inWords}`}{' '}
        <span class="quiet">
          {money(spent.monthly, currency)} this month.
          {pausedUntil !== null && ` Paused until ${day(pausedUntil)}.`}
        </span>
      </p>
      {next.map(({ scheduleId, n, amount, dueDate, isSkipped }) => (
        <div key={scheduleId} class="row apart small">
          <span>
            {money(amount, currency)} on {day(dueDate)}
            {isSkipped && ', skipped'}
          </span>
          {button(isSkipped ? 'Unskip' : 'Skip', `the charge of ${name} on ${day(dueDate)}`, () => {
            void act.press(isSkipped ? 'unskip' : 'skip', { scheduleId, n });
          })}
        </div>
      ))}
      {!hasEnded && (
        <div class="row">
          {permission.state === 'paused' && button('Resume', whose, () => void act.press('resume', { id }))}
          {button('Revoke', whose, () => void act.press('revoke', { id }))}
        </div>
      )}
      {!hasEnded && (
        <details>
          <summary>Other limits, or a pause</summary>
          <div class="stack">
            <div class="row fields">
              {fields}
              {button('Set limits', `of ${whose}`, setLimits)}
            </div>
            <div class="row fields">
              <label>
                Until (empty: until resumed)
                <input
                  type="date"
                  value={until}
                  onInput={({ currentTarget }) => setUntil(currentTarget.value)}
                />
              </label>
              {button('Pause', whose, () => void act.press('pause', { id, ...(until !== '' && { until }) }))}
            </div>
          </div>
        </details>
      )}
      <Said outcome={act.outcome} />
    </li>
  );
}
