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
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  async function download(): Promise<void> {
    setBusy(true);
    setError(undefined);
    await save(path, body, name).catch((failed: unknown) => setError(inWords(failed)));
    setBusy(false);
  }
  return (
    <div>
      <button type="button" disabled={busy} onClick={() => void download()}>
        {busy ? 'Downloading …' : children}
      </button>
      {error !== undefined && <Alert>The file was not saved. {error}</Alert>}
    </div>
  );
}
