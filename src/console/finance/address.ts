import { useEffect, useState } from 'preact/hooks';

/** Where in the console one is, behind the `#` of the address: it can be linked and kept. */
export interface Address {
  page: string;
  /** Of one thing, on pages that have such. */
  id: string | undefined;
  parameters: URLSearchParams;
}

function read(): Address {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page = '', id] = path.split('/');
  return { page, id: id && decoded(id), parameters: new URLSearchParams(search) };
}

/** Somebody may have typed anything. */
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

/** The address of a page; of one thing of it, where there is an id. */
export const to = (page: string, id?: string) =>
  id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;

export function go(address: string): void {
  location.hash = address;
}
