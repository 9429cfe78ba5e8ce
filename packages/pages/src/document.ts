import type { PageParts } from './bundle';

/** The mark of `browser/parts/mark.tsx`, in a blue that shows on light and dark tabs. */
export const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3b82dd" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"><path d="M4 20 12 4l8 16"/><path d="m8 14.5 3 3 5.5-6"/></svg>',
)}`;

/** An empty document: its script asks the API for all that it shows. */
export function documentOf(title: string, { script, style }: PageParts): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <link rel="icon" href="${ICON}" />
    <link rel="stylesheet" href="/pages/${style}" />
    <script type="module" src="/pages/${script}"></script>
  </head>
  <body>
    <div id="page"></div>
  </body>
</html>
`;
}
