import { useEffect, useState } from 'preact/hooks';

/** A place in the console, behind the `#`, so that a link or a bookmark can hold it. */
export interface Address {
  page: string;
  id: string | undefined;
  parameters: URLSearchParams;
}

function read(): Address {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page = '', id] = path.split('/');
  return { page, id: id && decoded(id), parameters: new URLSearchParams(search) };
}

/** A hand-typed address may hold `%` sequences that do not decode. */
function decoded(id: string): string | undefined {
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

export function useAddress(): Address {
  const [address, setAddress] = useState(read);
  useEffect(() => {
    const moved = () => setAddress(read());
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  return address;
}

export const to = (page: string, id?: string) =>
  id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;

export function go(address: string): void {
  location.hash = address;
}
