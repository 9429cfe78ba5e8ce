import { useState } from 'preact/hooks';
import { Act } from './act';
import { ask, change } from './api';
import { Choice } from './choice';
import { useMoment, useSession } from './context';
import { Show, useAnswered, useAttempt, useNotice } from './loaded';
import { Alert } from './parts';
import { addPasskey } from './passkey';
import { Table } from './table';

type Role = 'viewer' | 'clerk' | 'admin';

interface Person {
  personId: string;
  email: string;
  role: Role;
  disabled: boolean;
}

const PERSONS = '/v1/console/persons';

const ROLES: Record<Role, string> = {
  viewer: 'Viewer: reads',
  clerk: 'Clerk: also refunds, cancels, pauses, answers',
  admin: 'Admin: also persons and the webhook URL',
};

/** A link to a passkey, which is shown once. */
interface Link {
  email: string;
  invitationUrl: string;
}

/** The reader's own passkeys and, for an admin, the persons of the entity. */
export function Persons() {
  const { person } = useSession();
  return (
    <>
      {person?.role === 'admin' && <All />}
      <Passkeys />
    </>
  );
}

function All() {
  const loaded = useAnswered<{ persons: Person[] }>(PERSONS, ask);
  const { notice, done } = useNotice(loaded);
  const [link, setLink] = useState<Link>();
  /** @returns what to tell the reader; a second admin may have to approve it first */
  async function send(path: string, body: object = {}): Promise<string> {
    const { message, data } = await change('POST', path, body);
    const made = data as Partial<Link> | undefined;
    setLink(made?.invitationUrl === undefined ? undefined : (made as Link));
    return message;
  }
  return (
    <>
      {notice}
      {link && (
        <section class="card stack">
          <label>
            The link for {link.email}, which is not shown again
            <input readOnly value={link.invitationUrl} onFocus={(event) => event.currentTarget.select()} />
          </label>
        </section>
      )}
      <section class="card stack">
        <Show loaded={loaded} what="The persons">
          {({ persons }) => (
            <Table
              caption="Persons"
              rows={persons}
              keyOf={({ personId }) => personId}
              empty="There is nobody."
              columns={[
                { name: 'E-mail', cell: ({ email }) => email },
                { name: 'Role', cell: ({ role, disabled }) => `${role}${disabled ? ', disabled' : ''}` },
                {
                  name: 'Act',
                  cell: (one) => (
                    <div class="row">
                      <SetRole of={one} send={send} done={done} />
                      <Disable of={one} send={send} done={done} />
                      <Act
                        name="Invite again …"
                        label={`Invite again: ${one.email}`}
                        lowest="admin"
                        title={`Invite ${one.email} again?`}
                        yes="Yes, make a link"
                        send={() => send(`${PERSONS}/${one.personId}/invite`)}
                        done={done}
                      >
                        <p>Once it is used, the passkeys from before end, for who has lost them.</p>
                      </Act>
                    </div>
                  ),
                },
              ]}
            />
          )}
        </Show>
        <Add send={send} done={done} />
      </section>
    </>
  );
}

interface Acts {
  send: (path: string, body?: object) => Promise<string>;
  done: (message: string) => void;
}

function SetRole({ of: { personId, email, role }, send, done }: Acts & { of: Person }) {
  const [next, setNext] = useState(role);
  return (
    <Act
      name="Change role …"
      label={`Change role: ${email}`}
      lowest="admin"
      title={`Change the role of ${email}?`}
      yes="Yes, change it"
      send={() => send(`${PERSONS}/${personId}/role`, { role: next })}
      done={done}
    >
      <Choice name="Role, from the next click on" value={next} names={ROLES} choose={setNext} />
    </Act>
  );
}

const Disable = ({ of: { personId, email, disabled }, send, done }: Acts & { of: Person }) => (
  <Act
    name={disabled ? 'Enable …' : 'Disable …'}
    label={`${disabled ? 'Enable' : 'Disable'}: ${email}`}
    lowest="admin"
    title={`${disabled ? 'Enable' : 'Disable'} ${email}?`}
    yes={disabled ? 'Yes, let them in' : 'Yes, keep them out'}
    send={() => send(`${PERSONS}/${personId}/${disabled ? 'enable' : 'disable'}`)}
    done={done}
  >
    <p>{disabled ? 'Their passkeys sign them in again.' : 'From their next click on they are signed out.'}</p>
  </Act>
);

function Add({ send, done }: Acts) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  return (
    <div>
      <Act
        name="Add a person …"
        lowest="admin"
        title="Add a person?"
        yes="Yes, make a link"
        send={async () => {
          const message = await send(PERSONS, { email, role });
          setEmail('');
          return message;
        }}
        done={done}
      >
        <label>
          E-mail
          <input
            type="email"
            required
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        </label>
        <Choice name="Role" value={role} names={ROLES} choose={setRole} />
      </Act>
    </div>
  );
}

function Passkeys() {
  const moment = useMoment();
  const loaded = useAnswered<{ passkeys: { createdAt: string; current: boolean }[] }>(
    '/v1/console/passkeys',
    ask,
  );
  const { notice, done } = useNotice(loaded);
  const { busy, error, attempt } = useAttempt();
  return (
    <section class="card stack" aria-labelledby="passkeys">
      <h2 id="passkeys">Your passkeys</h2>
      {notice}
      <Show loaded={loaded} what="Your passkeys">
        {({ passkeys }) => (
          <ul>
            {passkeys.map(({ createdAt, current }) => (
              <li key={createdAt}>
                Made {moment(createdAt)}
                {current && ', and used now'}
              </li>
            ))}
          </ul>
        )}
      </Show>
      {error !== undefined && <Alert>{error}</Alert>}
      <div>
        <button type="button" disabled={busy} onClick={() => attempt(addPasskey().then(done))}>
          Add a passkey
        </button>
      </div>
    </section>
  );
}
