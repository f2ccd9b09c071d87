import { html, type Html } from './html.js';

export interface Bar {
  name: string;
  /** Names the colour of the bar: a severity. */
  kind: string;
  value: number;
}

const [NAME_WIDTH, BAR_WIDTH, VALUE_WIDTH, ROW] = [290, 380, 130, 24];

/** Bars beside their names and values, so that nothing hangs on colours. The longest takes the whole width. */
export function barChart(title: string, bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const rows = bars.map(({ name, kind, value }, n) => {
    const width = Math.max(1, Math.round((BAR_WIDTH * value) / most));
    const [y, base] = [n * ROW + 4, n * ROW + 17];
    return html`<g
      ><text x="${NAME_WIDTH - 8}" y="${base}" text-anchor="end">${name}</text>
      <rect class="bar ${kind}" x="${NAME_WIDTH}" y="${y}" width="${width}" height="16" rx="2"></rect>
      <text x="${NAME_WIDTH + width + 6}" y="${base}">${value.toLocaleString('en-US')}</text></g
    > `;
  });
  const [width, height] = [NAME_WIDTH + BAR_WIDTH + VALUE_WIDTH, bars.length * ROW + 4];
  const told = bars.map(({ name, value }) => `${name}: ${value}`).join('; ');
  return html`<svg
    role="img"
    aria-labelledby="chart-title chart-text"
    width="${width}"
    height="${height}"
    viewBox="0 0 ${width} ${height}"
  >
    <title id="chart-title">${title}</title>
    <desc id="chart-text">${told}</desc>
    ${rows}
  </svg>`;
}
