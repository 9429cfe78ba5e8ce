import { stateInWords, toneOf } from './words';

/** A state as a word with its colour. */
export const Badge = ({ of }: { of: string }) => (
  <span class={`badge ${toneOf(of)}`}>{stateInWords(of)}</span>
);
