import { to } from './address';

/** The link to a record by its reference or id. */
export const RecordLink = ({ of }: { of: string }) => (
  <a class="mono" href={to('payments', of)}>
    {of}
  </a>
);
