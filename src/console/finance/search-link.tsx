import { to } from './address';

export const SearchLink = ({ of }: { of: string }) => (
  <a class="mono" href={to('search', of)}>
    {of}
  </a>
);
