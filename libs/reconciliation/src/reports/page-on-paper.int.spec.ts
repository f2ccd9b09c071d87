// Left to the soak: it needs a browser; `npm test` has the text of the same pages in run-report.int.spec.ts.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { html } from './html.js';
import { page, tableOf } from './page.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];
const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => existsSync(path));
if (chromium === undefined) process.stderr.write(`not run: no Chromium on PATH (${NAMES.join(', ')})\n`);

let folder: TemporaryFolder;
beforeAll(async () => void (folder = await temporaryFolder()));
afterAll(() => folder.remove());

/** How much of a page, as it is printed on A4, lies beyond the edge of the paper: in pixels. */
async function cutOff(made: string): Promise<number> {
  const measured = made
    .replace('@media print', '@media all')
    .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, '')
    .replace('</body>', '<script>document.title = `${document.body.scrollWidth} ${innerWidth}`</script></body>');
  const file = join(folder.path, 'page.html');
  writeFileSync(file, measured);
  const { stdout } = await promisify(execFile)(
    chromium as string,
    [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'],
      ...['--window-size=680,960', `--user-data-dir=${join(folder.path, 'profile')}`, '--dump-dom', `file://${file}`],
    ],
    { timeout: 110_000 },
  );
  const [width = NaN, room = NaN] = (/<title>([^<]*)/.exec(stdout)?.[1] ?? '').split(' ').map(Number);
  return width - room;
}

(chromium === undefined ? describe.skip : describe)('a page on paper', () => {
  it('has its numbers on the sheet, however long the words beside them are', async () => {
    const long = 'НазваниеБезПробелов'.repeat(20);
    const columns = [{ name: 'place' }, { name: 'product' }, { name: 'found', isNumber: true }];
    const table = tableOf(long, columns, [[long, long, 12_345_678]]);
    expect(
      await cutOff(
        page(
          't',
          html`<h1>${long}</h1>
            <p>${long}</p>
            ${table}`,
        ),
      ),
    ).toBeLessThanOrEqual(0);
  });
});
