import type { Outcome } from './server';
import type { Standing } from './words';

export function Badge({ standing }: { standing: Standing }) {
  return (
    <span class={`badge ${standing.tone}`}>
      <span aria-hidden="true">{standing.mark} </span>
      {standing.words}
    </span>
  );
}

/** The outcome of the last button pressed. */
export function Said({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <p class={`said small ${outcome?.isGood === false ? 'notice bad' : ''}`} role="status">
      {outcome?.words}
    </p>
  );
}

/** Renders nothing if the address of the Temporal UI is unknown. */
export function WorkflowLink({ url, id, of }: { url: string | null; id: string; of: string }) {
  if (url === null) return null;
  return (
    <a class="small" href={url + encodeURIComponent(id)} target="_blank" rel="noreferrer">
      Workflow<span class="visually-hidden"> of {of}, in the Temporal UI</span>
    </a>
  );
}
