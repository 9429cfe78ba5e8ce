import type MiniSearch from 'minisearch';
import { found, indexOf, type Entry, type Found } from './ranking';

/** The search of the documentation, in the browser: what is looked for goes nowhere. */

const SHOWN_MAX = 8;
const WORDS_AROUND = 90;

export function search(): void {
  const input = document.querySelector<HTMLInputElement>('#search');
  const list = document.querySelector<HTMLElement>('#found');
  if (!input || !list) return;
  let index: Promise<MiniSearch<Entry>> | undefined;
  let chosen = -1;

  const show = async () => {
    const all = await (index ??= read());
    const best = found(all, input.value).slice(0, SHOWN_MAX);
    chosen = -1;
    input.removeAttribute('aria-activedescendant');
    list.replaceChildren(...best.map((one, n) => option(one, n, input.value)));
    if (best.length === 0) list.append(nothing());
    open(input.value.trim() !== '');
  };
  const open = (isOpen: boolean) => {
    list.hidden = !isOpen;
    input.setAttribute('aria-expanded', String(isOpen));
  };
  const choose = (step: number) => {
    const options = [...list.querySelectorAll('[role=option]')];
    chosen = (chosen + step + options.length) % options.length;
    for (const [n, one] of options.entries()) one.setAttribute('aria-selected', String(n === chosen));
    input.setAttribute('aria-activedescendant', options[chosen]?.id ?? '');
  };

  input.addEventListener('focus', () => void (index ??= read()));
  input.addEventListener('input', () => void show());
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && !list.hidden) {
      event.preventDefault();
      choose(step);
    } else if (event.key === 'Enter') {
      list.querySelectorAll<HTMLElement>('[data-address]')[Math.max(chosen, 0)]?.click();
    } else if (event.key === 'Escape') open(false);
  });
  document.addEventListener('click', ({ target }) => {
    const address = (target as HTMLElement).closest<HTMLElement>('[data-address]')?.dataset['address'];
    if (address !== undefined) location.assign(address);
    if (address !== undefined || !(target as HTMLElement).closest('.search')) open(false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || (event.target as HTMLElement).matches('input')) return;
    event.preventDefault();
    input.focus();
  });
}

async function read(): Promise<MiniSearch<Entry>> {
  return indexOf((await (await fetch('/docs/search.json')).json()) as Entry[]);
}

function option({ id, page, title, text }: Found, n: number, words: string): HTMLElement {
  const item = document.createElement('li');
  item.id = `found-${n}`;
  item.role = 'option';
  item.setAttribute('aria-selected', 'false');
  item.dataset['address'] = id;
  const near = Math.max(text.toLowerCase().indexOf(words.toLowerCase()) - WORDS_AROUND / 2, 0);
  const at = text.lastIndexOf(' ', near) + 1;
  item.append(part('strong', title), part('span', page), part('small', text.slice(at, at + WORDS_AROUND)));
  return item;
}

function nothing(): HTMLElement {
  const item = part('li', 'Nothing found');
  item.role = 'option';
  return item;
}

function part(tag: string, text: string): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
