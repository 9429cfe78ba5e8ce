import { useEffect, useRef, useState } from 'preact/hooks';
import { Mark } from '../parts/mark';
import { show } from '../parts/show';
import { to, useAddress } from './address';
import { readSession, signOut, watchSession, type Session } from './api';
import { Signed } from './context';
import { Deliveries } from './deliveries';
import { Exceptions } from './exceptions';
import './console.css';
import { inWords, Show } from './loaded';
import { Customers } from './customers';
import { Overview } from './overview';
import { Alert } from './parts';
import { Payments } from './payments';
import { Persons } from './persons';
import { Schedules } from './schedules';
import { Invitation, SignIn } from './sign-in';
import { Statements } from './statements';
import { Waiting } from './waiting';

/** A bank alone lists customers, and each role has the page of one. Clients have no passkeys to show. */
const pagesFor = ({ role, person }: Session, id?: string) =>
  PAGES.filter(
    ({ page }) =>
      (page !== 'customers' || role === 'bank' || id !== undefined) &&
      ((page !== 'waiting' && page !== 'persons') || person !== undefined),
  );

const PAGES = [
  { page: 'overview', title: 'Overview', Content: Overview },
  { page: 'payments', title: 'Payments', Content: Payments },
  { page: 'schedules', title: 'Schedules', Content: Schedules },
  { page: 'customers', title: 'Customers', Content: Customers },
  { page: 'exceptions', title: 'Exceptions', Content: Exceptions },
  { page: 'webhooks', title: 'Webhooks', Content: Deliveries },
  { page: 'statements', title: 'Statements', Content: Statements },
  { page: 'waiting', title: 'Waiting for you', Content: Waiting },
  { page: 'persons', title: 'Persons', Content: Persons },
] as const;

type Who = { session?: Session | undefined; known: boolean; ended: boolean };

/** The invitation leaves the address at once: the browser's history must not hold it. */
function takeInvitation(): string | undefined {
  const [, invitation] = /^#invitation=(.+)$/.exec(location.hash) ?? [];
  if (invitation !== undefined) history.replaceState(null, '', location.pathname);
  return invitation;
}

function Console() {
  const [{ session, known, ended }, setWho] = useState<Who>({ known: false, ended: false });
  const [invitation, setInvitation] = useState(takeInvitation);
  const [error, setError] = useState<string>();
  const found = (own?: Session) => setWho({ session: own, known: true, ended: false });
  useEffect(() => {
    watchSession({ ended: () => setWho({ known: true, ended: true }), renewed: found });
    addEventListener('hashchange', () => setInvitation((before) => takeInvitation() ?? before));
    readSession().then(found, (failed: unknown) => setError(inWords(failed)));
  }, []);

  if (!known) {
    return (
      <main class="sign-in stack">
        <h1>Assent console</h1>
        <Show
          loaded={{ ...(error !== undefined && { error }), reload: () => location.reload() }}
          what="The console"
        >
          {() => null}
        </Show>
      </main>
    );
  }
  const enter = (own: Session) => {
    setInvitation(undefined);
    found(own);
  };
  if (invitation !== undefined) return <Invitation invitation={invitation} done={enter} />;
  if (session === undefined) return <SignIn ended={ended} done={enter} />;
  return (
    <Signed.Provider value={session}>
      <Frame session={session} leave={() => found()} />
    </Signed.Provider>
  );
}

function Frame({ session, leave }: { session: Session; leave: () => void }) {
  const address = useAddress();
  const asked = pagesFor(session, address.id).find((one) => one.page === address.page);
  const { page, title, Content } = asked ?? PAGES[0];
  const heading = useRef<HTMLHeadingElement>(null);
  const [error, setError] = useState<string>();
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Assent console`;
    // Keyboards and screen readers go on from the new page's heading.
    if (!isFirst.current) heading.current?.focus();
    // On a phone the bar is wider than the screen.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    isFirst.current = false;
  }, [title, address.id]);

  return (
    <>
      <a class="button skip" href={`#${CONTENT}`} onClick={(event) => jump(event, heading.current)}>
        Skip to the content
      </a>
      {address.id === undefined && page !== 'overview' && (
        <a
          class="button skip"
          href={`#${CONTENT}`}
          onClick={(event) => jump(event, firstOfList() ?? heading.current)}
        >
          Skip to the list
        </a>
      )}
      <header class="bar">
        <div class="bar-inner row">
          <strong>
            <Mark />
            Assent console
          </strong>
          <nav class="pages row" aria-label="Pages of the console">
            {pagesFor(session).map((one) => (
              <a key={one.page} href={to(one.page)} aria-current={one.page === page ? 'page' : undefined}>
                {one.title}
              </a>
            ))}
          </nav>
          <button
            type="button"
            onClick={() => void signOut().then(leave, (failed: unknown) => setError(inWords(failed)))}
          >
            Sign out
          </button>
        </div>
      </header>
      <main class="page stack" id={CONTENT}>
        <div class="head">
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          <span>
            {session.name} <span class="badge">{session.role}</span>
            {session.person && (
              <span class="small quiet">
                {' '}
                {session.person.email}, {session.person.role}
              </span>
            )}
          </span>
        </div>
        {error !== undefined && <Alert>You are still signed in. {error}</Alert>}
        <Content address={address} />
        <p class="quiet small">Days begin, and times are, in the network’s time zone: {session.timezone}.</p>
      </main>
    </>
  );
}

const CONTENT = 'content';

const firstOfList = () => document.querySelector<HTMLElement>('main .rows tbody a');

/** Moves the focus without the link's own change of the address, which names the page. */
function jump(event: MouseEvent, heading: HTMLElement | null): void {
  event.preventDefault();
  heading?.focus();
}

show(<Console />);
