import { Mark } from '../parts/mark';
import { show } from '../parts/show';
import { Charged } from './charged';
import { Clock } from './clock';
import { Guide, nextStep } from './guide';
import { Phone } from './phone';
import { useStream } from './server';
import { Shop } from './shop';
import { Wire } from './wire';
import './sandbox.css';

function Sandbox() {
  const { state, wire, isConnected } = useStream();
  const trouble = state?.trouble ?? null;
  const next = state && nextStep(state);
  const isPermissionAsked =
    next === 'permission' &&
    state?.prompts.some(({ kind, state: how }) => kind === 'permission' && how === 'waiting') === true;
  return (
    <main class="page stack sandbox">
      <header>
        <h1>
          <Mark />
          Assent sandbox
        </h1>
        <p class="quiet">
          A shop, a bank and its customers, on the real engine. No money moves, whatever you press.{' '}
          <a href="/docs">Documentation</a>
        </p>
      </header>
      <div role="status">
        {!isConnected && (
          <p class="notice">{state ? 'The connection is lost. Trying again …' : 'Connecting …'}</p>
        )}
        {isConnected && trouble !== null && <p class="notice">{trouble}</p>}
      </div>
      {state && (
        <>
          <Guide step={next} />
          <div class="panes">
            <Shop state={state} next={isPermissionAsked ? undefined : next} />
            <Phone state={state} isNext={next === 'approve' || isPermissionAsked} />
            <Clock state={state} isNext={next === 'clock'} />
            <Charged state={state} />
            <Wire wire={wire} state={state} />
          </div>
        </>
      )}
    </main>
  );
}

show(<Sandbox />);
