import type { ComponentChildren } from 'preact';

/** An error that screen readers announce at once. */
export const Alert = ({ children }: { children: ComponentChildren }) => (
  <p class="notice bad" role="alert">
    {children}
  </p>
);
