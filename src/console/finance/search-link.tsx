import { to } from './address';

/** What goes by a reference or an id, one click away. */
export const SearchLink = ({ of }: { of: string }) => (
  <a class="mono" href={to('search', of)}>
    {of}
  </a>
);
