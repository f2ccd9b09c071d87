import { createHash } from 'node:crypto';
import { html, Html } from './html.js';

const LOOK = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #566173; --line: #c9d1dc; --ground: #ffffff; --band: #f3f5f8;
  --link: #0b57a4; --critical: #b3261e; --warning: #9a6700; --information: #2f6db5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3adbb; --line: #3a4453; --ground: #12171e;
  --band: #1b222c; --link: #8ab8ff; --critical: #ff8a80; --warning: #f2c14e; --information: #82b1ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; color: var(--ink); background: var(--ground);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
p, ul { max-width: 60rem; margin: .5rem 0; }
h1, p, caption { overflow-wrap: anywhere; }
a { color: var(--link); }
code, .digest { font-family: ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace; font-size: .86em;
  overflow-wrap: anywhere; }
pre { background: var(--band); border: 1px solid var(--line); padding: .6rem .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.lead, .soft { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .9rem; }
caption { text-align: left; color: var(--soft); padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
thead th { background: var(--band); white-space: nowrap; }
tbody th code { white-space: nowrap; overflow-wrap: normal; }
tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.critical { color: var(--critical); } .warning { color: var(--warning); } .information { color: var(--information); }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 13px system-ui, "DejaVu Sans", sans-serif; }
svg .bar.critical { fill: var(--critical); } svg .bar.warning { fill: var(--warning); }
svg .bar.information { fill: var(--information); }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #999; --ground: #fff; --band: #f0f0f0;
  --link: #000; --critical: #8c1d18; --warning: #6b4700; --information: #1d4f8c; }
  body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; } table { font-size: 8pt; }
  th, td { overflow-wrap: anywhere; }
  h2 { break-after: avoid; } tr, svg, pre { break-inside: avoid; } thead { display: table-header-group; } }
@page { margin: 15mm; }
`;

/** As one piece: a space more, and the digest is that of another style. */
const LOOK_ELEMENT = new Html(`<style>${LOOK}</style>`);
const LOOK_DIGEST = createHash('sha256').update(LOOK).digest('base64');
/** This style and nothing else: no script, no picture, no address outside. */
const POLICY = `default-src 'none'; style-src 'sha256-${LOOK_DIGEST}'; base-uri 'none'; form-action 'none'`;

/** A page that needs nothing but itself. It follows the colours of the reader's system, and prints on white. */
export const page = (title: string, body: Html): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        ${LOOK_ELEMENT}
      </head>
      <body>
        ${body}
      </body>
    </html> `.text;

export interface Column {
  name: string;
  /** Numbers stand on the right. */
  isNumber?: boolean;
}

export type Cell = Html | string | number | null | undefined;

/** A table with a caption, and the first cell of each row as its heading. */
export function tableOf(caption: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): Html {
  const head = columns.map(({ name, isNumber }) =>
    isNumber === true ? html`<th scope="col" class="number">${name}</th>` : html`<th scope="col">${name}</th>`,
  );
  const cell = (value: Cell, n: number): Html => {
    const shown = typeof value === 'number' ? value.toLocaleString('en-US') : value;
    if (n === 0) return html`<th scope="row">${shown}</th>`;
    return columns[n]?.isNumber === true ? html`<td class="number">${shown}</td>` : html`<td>${shown}</td>`;
  };
  const body = rows.map(
    (row) =>
      html`<tr>
        ${row.map(cell)}
      </tr> `,
  );
  return html`<div class="wide">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>
  </div>`;
}
