import { useState } from 'preact/hooks';
import { save } from './api';
import { inWords } from './loaded';
import { Alert } from './parts';

interface Props {
  path: string;
  body?: object;
  /** Words for the file's name. */
  name: string;
  children: string;
}

/** A button that has the browser save a CSV file of the API, for people. */
export function Save({ path, body, name, children }: Props) {
  const [{ busy = false, error }, setState] = useState<{ busy?: true; error?: string }>({});
  function download(): void {
    setState({ busy: true });
    void save(path, body, name)
      .then(
        () => ({}),
        (failed: unknown) => ({ error: inWords(failed) }),
      )
      .then(setState);
  }
  return (
    <div>
      <button type="button" disabled={busy} onClick={download}>
        {busy ? 'Downloading …' : children}
      </button>
      {error !== undefined && <Alert>The file was not saved. {error}</Alert>}
    </div>
  );
}
