/** The mark of Assent: an A whose bar is a tick. */
export function Mark() {
  return (
    <svg class="mark-of-assent" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M4 20 12 4l8 16" />
      <path d="m8 14.5 3 3 5.5-6" />
    </svg>
  );
}
