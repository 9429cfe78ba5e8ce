import { search } from './search';
import './docs.css';

/* Search, colours and tabs of the documentation. Without scripts its pages can be read, too. */

const root = document.documentElement;
const THEME = 'docs-theme';
const LANGUAGE = 'docs-language';

/** A browser may forbid a page to keep anything. */
function kept(key: string, value?: string): string | null {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (root.dataset['theme'] ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark';
const theme = kept(THEME);
if (theme) root.dataset['theme'] = theme;

function wireTheme(): void {
  const button = document.querySelector<HTMLButtonElement>('#theme');
  if (!button) return;
  const name = () => (button.textContent = isDark() ? 'Light' : 'Dark');
  button.addEventListener('click', () => {
    const next = isDark() ? 'light' : 'dark';
    root.dataset['theme'] = next;
    kept(THEME, next);
    name();
  });
  systemIsDark.addEventListener('change', name);
  name();
}

/** All tabs of a page show one language. */
function choose(language: string): void {
  for (const tab of document.querySelectorAll<HTMLElement>('[role=tab]')) {
    const isChosen = tab.dataset['language'] === language;
    tab.setAttribute('aria-selected', String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '');
    if (panel) panel.hidden = !isChosen;
  }
}

function wireTabs(): void {
  choose(kept(LANGUAGE) ?? 'curl');
  document.addEventListener('click', ({ target }) => {
    const language = (target as HTMLElement).dataset['language'];
    if (language === undefined) return;
    choose(language);
    kept(LANGUAGE, language);
  });
  document.addEventListener('keydown', ({ key, target }) => {
    if (!(target as HTMLElement).matches('[role=tab]') || !['ArrowLeft', 'ArrowRight'].includes(key)) return;
    const other = (target as HTMLElement).parentElement?.querySelector<HTMLElement>('[aria-selected=false]');
    other?.click();
    other?.focus();
  });
}

function wireMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('#menu-button');
  button?.addEventListener('click', () => {
    const isOpen = document.body.classList.toggle('menu-open');
    button.setAttribute('aria-expanded', String(isOpen));
  });
}

function wireCopies(): void {
  for (const block of document.querySelectorAll('main pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.textContent ?? '');
      button.textContent = 'Copied';
    });
    const frame = document.createElement('div');
    frame.className = 'code';
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

function start(): void {
  wireTheme();
  wireMenu();
  wireTabs();
  wireCopies();
  search();
}

// A page that waits with its first picture for this script has no text yet.
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
