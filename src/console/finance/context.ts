import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from './api';
import { momentIn } from '../parts/time';

/** What every page of somebody who is signed in knows. */
export const Signed = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(Signed);
  if (session === undefined) throw new Error('a page is shown to nobody');
  return session;
}

/** How moments are written for whoever is signed in: in the network's zone. */
export const useMoment = () => momentIn(useSession().timezone, 'second');
