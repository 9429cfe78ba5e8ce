import { render, type ComponentChild } from 'preact';
import './theme.css';

export function show(page: ComponentChild): void {
  const place = document.getElementById('page');
  if (place === null) throw new Error('the document has no place for a page');
  render(page, place);
}
