import { save } from './api';
import { useAttempt } from './loaded';
import { Alert } from './parts';

interface Props {
  path: string;
  body?: object;
  /** Words for the file's name. */
  name: string;
  children: string;
}

/** A button that saves a CSV file of the API. */
export function Save({ path, body, name, children }: Props) {
  const { busy, error, attempt } = useAttempt();
  return (
    <div>
      <button type="button" disabled={busy} onClick={() => attempt(save(path, body, name))}>
        {busy ? 'Downloading …' : children}
      </button>
      {error !== undefined && <Alert>The file was not saved. {error}</Alert>}
    </div>
  );
}
