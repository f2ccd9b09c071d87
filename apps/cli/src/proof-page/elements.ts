import { escaped } from '../escaped.js';

/** The little of a browser's document that the page uses. Text is always text: nothing is read as HTML. */
export interface PageElement {
  id: string;
  className: string;
  value: string;
  disabled: boolean;
  href: string;
  download: string;
  textContent: string | null;
  append(...parts: (PageElement | string)[]): void;
  replaceChildren(...parts: (PageElement | string)[]): void;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
  click(): void;
  focus(): void;
}

interface PageDocument {
  title: string;
  createElement(name: string): PageElement;
  getElementById(id: string): PageElement | null;
}

/** Undefined where the verifier runs without a page. */
export const page = (globalThis as { document?: PageDocument }).document;

/** An element with attributes and content. What steers or turns text is written as its number. */
export function make(
  name: string,
  attributes: Record<string, string> = {},
  ...parts: (PageElement | string)[]
): PageElement {
  const element = (page as PageDocument).createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...parts.map((part) => (typeof part === 'string' ? escaped(part) : part)));
  return element;
}

export type Cell = PageElement | string;

/** A table with a caption and a header in each column. */
export function table(caption: string, head: string[], rows: Cell[][]): PageElement {
  const titles = head.map((title) => make('th', { scope: 'col' }, title));
  return make(
    'div',
    { class: 'wide' },
    make(
      'table',
      {},
      make('caption', {}, caption),
      make('thead', {}, make('tr', {}, ...titles)),
      make('tbody', {}, ...rows.map(row)),
    ),
  );
}

/** A row whose first cell names it. */
export const row = ([first = '', ...others]: Cell[]): PageElement =>
  make('tr', {}, make('th', { scope: 'row' }, first), ...others.map((cell) => make('td', {}, cell)));

export const section = (title: string, ...parts: Cell[]): PageElement =>
  make('section', {}, make('h2', {}, title), ...parts);

export const list = (items: string[]): PageElement => make('ul', {}, ...items.map((item) => make('li', {}, item)));

/** Behind the words `summary`, until somebody opens it. */
export const folded = (summary: string, ...parts: Cell[]): PageElement =>
  make('details', {}, make('summary', {}, summary), ...parts);
