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

/** What became of the buttons above it. */
export function Said({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <p class={`said small ${outcome?.isGood === false ? 'notice bad' : ''}`} role="status">
      {outcome?.words}
    </p>
  );
}

/** Nothing where nobody knows where the Temporal UI is. */
export function WorkflowLink({ url, id, of }: { url: string | null; id: string; of: string }) {
  if (url === null) return null;
  return (
    <a class="small" href={url + encodeURIComponent(id)} target="_blank" rel="noreferrer">
      Workflow<span class="heard-only"> of {of}, in the Temporal UI</span>
    </a>
  );
}
