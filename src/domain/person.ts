/** Rights of a person in the console: each role has those of the role before. */
export const PERSON_ROLES = ['viewer', 'clerk', 'admin'] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

export const mayAct = (role: PersonRole, lowest: PersonRole) =>
  PERSON_ROLES.indexOf(role) >= PERSON_ROLES.indexOf(lowest);

export interface Person {
  personId: string;
  email: string;
  role: PersonRole;
  disabled: boolean;
}

/** A new link as it is shown, once. It is in the fragment, which no server and no log gets. */
export const shownInvitation = <Invited extends object>(
  consoleUrl: string,
  { invitation, ...person }: Invited & { invitation: string },
) => ({ ...person, invitationUrl: `${consoleUrl}/console#invitation=${invitation}` });
