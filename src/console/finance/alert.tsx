import type { ComponentChildren } from 'preact';

/** What went wrong, said at once to those who do not see it, too. */
export const Alert = ({ children }: { children: ComponentChildren }) => (
  <p class="notice bad" role="alert">
    {children}
  </p>
);
