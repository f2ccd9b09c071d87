// Left to the soak: a browser. `npm test` has what the page does in proof-page.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { madeProof, textOf, type MadeProof } from '../../../../libs/proofs/test/made-proof.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { pageParts } from '../commands/audit-page.js';
import type { TrustedKeys } from './check.js';
import { pageFile } from './page-file.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];
const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => existsSync(path));
if (chromium === undefined) process.stderr.write(`not run: no Chromium on PATH (${NAMES.join(', ')})\n`);

const HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=\'document.title="owned"\'>';

let folder: TemporaryFolder;
let proof: MadeProof;
beforeAll(async () => {
  folder = await temporaryFolder();
  const evidence = { documentSha256: Buffer.from('<a>evidence</a>') };
  proof = await madeProof([{ text: HOSTILE, [HOSTILE]: 1 }, { status: 'a\u202eb' }], { evidence, breaks: 1 });
});
afterAll(() => folder.remove());

/** What Chromium has made of the page: its document, and what it said on its console. No name is resolved for it. */
async function opened(html: string): Promise<{ dom: string; title: string; verdict: string; console: string }> {
  const file = join(folder.path, 'page.html');
  writeFileSync(file, html);
  const { stdout, stderr } = await promisify(execFile)(
    chromium as string,
    [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--enable-logging=stderr'],
      ...['--disable-background-networking', '--host-resolver-rules=MAP * ~NOTFOUND', '--virtual-time-budget=100000'],
      ...[`--user-data-dir=${join(folder.path, 'profile')}`, '--dump-dom', `file://${file}`],
    ],
    { maxBuffer: 256 * 1024 * 1024, timeout: 110_000 },
  );
  const said = stderr.split('\n').filter((line) => line.includes('CONSOLE'));
  const [, title = ''] = /<title>([^<]*)/.exec(stdout) ?? [];
  const [, verdict = ''] = /<p id="status"[^>]*data-verdict="([a-z]*)/.exec(stdout) ?? [];
  return { dom: stdout, title, verdict, console: said.join('\n') };
}

const pageOf = (text: string, trusted: TrustedKeys): string => pageFile(text, trusted, pageParts());
const keys = (): TrustedKeys => ({ key: proof.key, witnesses: [proof.witness] });

/** The page with a second script, which its policy allows: the hand of a reader. */
function withHand(html: string, script: string): string {
  const hash = createHash('sha256').update(script).digest('base64');
  return html
    .replace('script-src ', `script-src 'sha256-${hash}' `)
    .replace('</body>', `<script>${script}</script></body>`);
}
const PASTES = (key: string): string => `
  const paste = () => {
    const field = document.getElementById('key');
    if (field === null) return setTimeout(paste, 10);
    field.value = ${JSON.stringify(key)};
    document.querySelector('form').requestSubmit();
  };
  paste();`;

(chromium === undefined ? describe.skip : describe)('the page of a proof in Chromium, opened from a file', () => {
  it('checks itself, shows what the events say as text, and runs nothing that is in them', async () => {
    const { dom, title, verdict, console: said } = await opened(pageOf(proof.text, keys()));
    expect({ title, verdict, said }).toEqual({ title: 'Proof from an audit log', verdict: 'good', said: '' });
    const shown = dom.slice(dom.indexOf('<main'), dom.indexOf('</main>'));
    expect(shown).toContain('&lt;/script&gt;&lt;script&gt;document.title="owned"');
    expect(shown).not.toMatch(/<(script|img)/);
    for (const words of [
      'a\\u202eb',
      'person anna, authenticated by password',
      '&lt;a&gt;evidence&lt;/a&gt;',
      'Break 1 of the log',
      'witness.example: saw it at 2026-03-01T10:00:00.000Z',
      proof.key,
    ])
      expect(shown).toContain(words);
  });

  it('says that a proof does not hold, and then shows no event', async () => {
    const lines = structuredClone(proof.lines);
    (lines[3] as { data: string }).data = '{"text":"forged"}';
    const { dom, verdict } = await opened(pageOf(textOf(lines), keys()));
    expect(verdict).toBe('bad');
    expect(dom).toContain('line 4: the data is not what the leaf names by digest');
    expect(dom.slice(dom.indexOf('<main'), dom.indexOf('</main>'))).not.toContain('forged');
  });

  it('checks again with the key that a reader pastes', async () => {
    const { key } = await madeProof([{}]);
    const other = await opened(withHand(pageOf(proof.text, keys()), PASTES(key)));
    expect(other.verdict).toBe('bad');
    expect(other.dom).toContain('the note carries no signature of pedigree.example/log');
    const right = await opened(withHand(pageOf(proof.text, { key, witnesses: [proof.witness] }), PASTES(proof.key)));
    expect(right.verdict).toBe('good');
  });

  it('shows parts of a file that it does not know, and says that they are not proven', async () => {
    const body = JSON.stringify({ status: 'accepted', text: HOSTILE });
    const line = JSON.stringify({
      answer: { route: '/v1/documents/1', position: '3', body, streams: [{ events: 2 }] },
    });
    const hand = `const lines = proofPage.otherLines(${JSON.stringify(`${line}\n`).replaceAll('<', '\\u003c')});
      document.body.append(...proofPage.otherSections(lines));
      const verified = { witnessed: { isMet: true } };
      document.body.append(proofPage.verdictOf({ kind: 'holds', verified, events: [] }, lines).why);`;
    const { dom, title } = await opened(withHand(pageOf(proof.text, keys()), hand));
    const shown = dom.slice(dom.indexOf('Further parts of the file'));
    expect(shown).toMatch(/<h3>answer<\/h3><dl><dt>route<\/dt><dd>\/v1\/documents\/1<\/dd>/);
    expect(shown).toContain('<pre>{\n  "status": "accepted",\n  "text": "&lt;/script&gt;');
    expect(shown).toContain('Further parts of the file are not proven.');
    expect(title).toBe('Proof from an audit log');
  });

  it('shows the answer that a proof is of, as text, and says that it does not work it out', async () => {
    const body = { phase: 'sent', [HOSTILE]: HOSTILE };
    const { text, key } = await madeProof([{ n: 0 }, { n: 1 }], { answer: body });
    const { dom, verdict, title, console: said } = await opened(pageOf(text, { key, witnesses: [] }));
    expect({ title, verdict, said }).toEqual({ title: 'Proof from an audit log', verdict: 'good', said: '' });
    const shown = dom.slice(dom.indexOf('<main'), dom.indexOf('</main>'));
    expect(shown).toContain('<dt>route</dt><dd>/v1/documents/1</dd>');
    expect(shown).toContain('"phase": "sent"');
    expect(shown).toContain('&lt;/script&gt;&lt;script&gt;document.title');
    expect(shown).not.toMatch(/<(script|img)/);
    expect(dom).toContain('Further parts of the file are not proven.');
    expect(shown).toContain('Further part of the file: answer');
    const other = await opened(pageOf(text.replace('"events":2}]}', '"events":1}]}'), { key, witnesses: [] }));
    expect(other.verdict).toBe('bad');
    expect(other.dom).toContain('the answer was made from 1 events of document-1, and the file has 2');
  });

  it('runs no script but its own, to the letter, and asks for nothing', async () => {
    const html = pageOf(proof.text, keys());
    const changed = await opened(html.replace('Checking ...', 'checking ...'));
    expect(changed.dom).toContain('Nothing is checked yet');
    expect(changed.console).toMatch(/Content Security Policy/);
    const asking = await opened(html.replace('</main>', '</main><img src="file:///etc/hostname" alt="">'));
    expect(asking.verdict).toBe('good');
    expect(asking.console).toMatch(/Content Security Policy/);
  });

  it('opens with 10,500 events', async () => {
    const long = await madeProof(Array.from({ length: 10_500 }, (_, n) => ({ n, text: 'x'.repeat(400) })));
    const { dom, verdict } = await opened(pageOf(long.text, { key: long.key, witnesses: [] }));
    expect(verdict).toBe('good');
    expect(dom).toContain('250 of 10500 events are shown.');
    expect(dom).toContain('Show the other 10250 events');
  });
});
