import { useMoment } from './context';

export function Timeline({ of }: { of: { at: string; what: string; text: string }[] }) {
  const moment = useMoment();
  return (
    <ol class="timeline">
      {of.map(({ at, what, text }, i) => (
        <li key={i}>
          <span class="quiet">{moment(at)}</span>
          <span>
            <span class="badge">{what}</span>
          </span>
          <p>{text}</p>
        </li>
      ))}
    </ol>
  );
}
