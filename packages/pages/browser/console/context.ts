import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from './api';
import { momentIn } from '../parts/time';
import { mayAct } from '../../../../src/domain/person';

export const Signed = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(Signed);
  if (session === undefined) throw new Error('a page is shown without a session');
  return session;
}

/** Whether the reader's role may act so: the service refuses the others. */
export function useMay(lowest: 'clerk' | 'admin'): boolean {
  const { person } = useSession();
  return person === undefined || mayAct(person.role, lowest);
}

/** Writes moments in the network's zone, not in the reader's. */
export const useMoment = () => momentIn(useSession().timezone, 'second');
