import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { blocksOf, commandsIn, isShell, mentionsIn } from './page.js';
import { PAGES } from './pages.js';

const read = (page: string): string => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');

describe('the blocks of a page', () => {
  const markdown =
    'Text.\n\n```sh run terminal until="is up"\nnpm start\n```\n\n```js run feed.mjs\nlet a;\n```\n\n```sh ' +
    'not-run="needs Docker"\ndocker run x\n```\n```json\n{}\n```\n';

  it('say by their fences what is done with them', () => {
    expect(blocksOf('a.md', markdown)).toEqual([
      {
        page: 'a.md',
        line: 3,
        language: 'sh',
        mark: 'run',
        terminal: true,
        until: 'is up',
        exits: 0,
        text: 'npm start\n',
      },
      {
        page: 'a.md',
        line: 7,
        language: 'js',
        mark: 'run',
        file: 'feed.mjs',
        terminal: false,
        exits: 0,
        text: 'let a;\n',
      },
      {
        page: 'a.md',
        line: 11,
        language: 'sh',
        mark: 'not-run',
        reason: 'needs Docker',
        terminal: false,
        exits: 0,
        text: 'docker run x\n',
      },
      { page: 'a.md', line: 14, language: 'json', terminal: false, exits: 0, text: '{}\n' },
    ]);
  });

  it.each([
    ['a\n\n# remark\nb # remark', ['a', 'b # remark']],
    ['curl x \\\n  -d y\nnext', ['curl x \\\n  -d y', 'next']],
    ["cat > f <<'EOF'\none\ntwo\nEOF\nnext", ["cat > f <<'EOF'\none\ntwo\nEOF", 'next']],
    [`say 'one\ntwo'\nsay "it's"`, [`say 'one\ntwo'`, `say "it's"`]],
  ])('hold commands as a person pastes them: %j', (text, commands) => expect(commandsIn(text)).toEqual(commands));

  it('are not taken for what the running text names', () => {
    expect(mentionsIn('`npx pedigree send FILE` and `GET /v1/documents?limit=1`\n```sh\n`pedigree up`\n```\n')).toEqual(
      { commands: ['pedigree send FILE'], requests: ['GET /v1/documents?limit=1'] },
    );
  });
});

describe.each(PAGES.map((one) => [one.page, one] as const))('%s', (page, { scenes }) => {
  const blocks = blocksOf(page, read(page));

  it('says of every shell block whether it is run, and why not', () => {
    expect(blocks.filter(isShell).length).toBeGreaterThan(0);
    expect(blocks.filter((one) => isShell(one) && one.mark === undefined).map((one) => one.line)).toEqual([]);
    expect(
      blocks.filter((one) => one.mark === 'not-run' && (one.reason ?? '').length < 10).map((one) => one.line),
    ).toEqual([]);
  });

  it('has each block that the soak knows by name', () => {
    const names = blocks.flatMap((one) => one.name ?? []);
    expect(Object.keys(scenes ?? {}).filter((name) => !names.includes(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});
