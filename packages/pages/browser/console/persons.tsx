import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Person, PersonRole } from '../../../../src/domain/person';
import { Act } from './act';
import { ask, change } from './api';
import { Choice, useDraft } from './choice';
import { useMoment, useSession } from './context';
import { Show, useAnswered, useAttempt, useNotice, type Done } from './loaded';
import { Alert } from './parts';
import { addPasskey } from './passkey';
import { Table } from './table';

const PERSONS = '/v1/console/persons';

const ROLES: Record<PersonRole, string> = {
  viewer: 'Viewer: reads',
  clerk: 'Clerk: also refunds, cancels, pauses, answers',
  admin: 'Admin: also persons and the webhook URL',
};

/** @returns what to tell the reader: an invitation's link is shown this once */
export async function send(path: string, body?: object): Promise<ComponentChildren> {
  const { message, data } = await change('POST', path, body);
  const { email, invitationUrl } = (data ?? {}) as { email?: string; invitationUrl?: string };
  if (invitationUrl === undefined) return message;
  return (
    <label>
      The link for {email}, which is not shown again. {message}
      <input readOnly value={invitationUrl} onFocus={(event) => event.currentTarget.select()} />
    </label>
  );
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
  return (
    <>
      {notice}
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
                      <SetRole of={one} done={done} />
                      <Disable of={one} done={done} />
                      <Act
                        name="Invite again …"
                        label={`Invite again: ${one.email}`}
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
        <Add done={done} />
      </section>
    </>
  );
}

interface Props {
  of: Person;
  done: Done;
}

function SetRole({ of: { personId, email, role }, done }: Props) {
  const [next, setNext] = useDraft(role);
  return (
    <Act
      name="Change role …"
      label={`Change role: ${email}`}
      title={`Change the role of ${email}?`}
      yes="Yes, change it"
      send={() => send(`${PERSONS}/${personId}/role`, { role: next })}
      done={done}
    >
      <Choice name="Role, from the next click on" value={next} names={ROLES} choose={setNext} />
    </Act>
  );
}

const Disable = ({ of: { personId, email, disabled }, done }: Props) => (
  <Act
    name={disabled ? 'Enable …' : 'Disable …'}
    label={`${disabled ? 'Enable' : 'Disable'}: ${email}`}
    title={`${disabled ? 'Enable' : 'Disable'} ${email}?`}
    yes={disabled ? 'Yes, let them in' : 'Yes, keep them out'}
    send={() => send(`${PERSONS}/${personId}/${disabled ? 'enable' : 'disable'}`)}
    done={done}
  >
    <p>{disabled ? 'Their passkeys sign them in again.' : 'From their next click on they are signed out.'}</p>
  </Act>
);

function Add({ done }: Pick<Props, 'done'>) {
  const [role, setRole] = useState<PersonRole>('viewer');
  return (
    <div>
      <Act
        name="Add a person …"
        title="Add a person?"
        yes="Yes, make a link"
        send={(given) => send(PERSONS, { ...given, role })}
        done={done}
      >
        <label>
          E-mail
          <input name="email" type="email" required />
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
          <ul class="small">
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
