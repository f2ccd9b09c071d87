import { describe, expect, it } from '@jest/globals';
import * as rules from './tidy-rules.mjs';
import type { TidyRule, TreeFile } from './tidy-rules.mjs';

const file = (path: string, text = ''): TreeFile => ({ path, text });
const found = (rule: TidyRule, ...files: TreeFile[]): string[] =>
  rule(files).map((finding) => `${finding.rule} ${finding.file}`);
const lines = (count: number): string => 'x;\n'.repeat(count);

describe('file lines', () => {
  it('lets 400 pass and refuses 401', () => {
    expect(found(rules.fileLines, file('libs/tasks/src/a.ts', lines(400)))).toEqual([]);
    expect(found(rules.fileLines, file('libs/tasks/src/a.ts', lines(401)))).toEqual(['file-lines libs/tasks/src/a.ts']);
  });

  it('gives tests 600, and counts SQL and programs too', () => {
    expect(
      found(rules.fileLines, file('libs/tasks/src/a.spec.ts', lines(600)), file('test/support/a.ts', lines(600))),
    ).toEqual([]);
    expect(found(rules.fileLines, file('libs/tasks/src/a.spec.ts', lines(601)))).toHaveLength(1);
    expect(
      found(
        rules.fileLines,
        file('libs/tasks/src/migrations/1.sql', lines(401)),
        file('apps/cli/bin/a.mjs', lines(401)),
      ),
    ).toHaveLength(2);
  });
});

describe('banned names', () => {
  it.each([
    'libs/tasks/src/utils.ts',
    'libs/tasks/src/lane-helper.ts',
    'apps/gateway/src/common/a.ts',
    'libs/shared/src/index.ts',
    'test/base.spec.ts',
    'libs/x/src/token_manager.ts',
  ])('refuses %s', (path) => expect(found(rules.bannedNames, file(path))).toEqual([`banned-name ${path}`]));

  it.each(['libs/tasks/src/base64.ts', 'libs/tasks/src/database.ts', 'docs/utils.md', 'libs/tasks/src/sharedness.ts'])(
    'leaves %s alone',
    (path) => expect(found(rules.bannedNames, file(path))).toEqual([]),
  );
});

describe('folder depth', () => {
  it('allows two folders below src, not three', () => {
    expect(found(rules.folderDepth, file('libs/x/src/a/b/c.ts'), file('libs/x/schemas/a/b/c/d/e.xsd'))).toEqual([]);
    expect(found(rules.folderDepth, file('apps/x/src/a/b/c/d.ts'))).toEqual(['folder-depth apps/x/src/a/b/c/d.ts']);
  });
});

describe('the opening of a library', () => {
  const opening = (proof: string, promise = 'Promise: it holds.'): string =>
    `/**\n * What it is.\n * ${promise}\n * ${proof}\n */\nexport {};\n`;
  const part = file('libs/x/src/part.spec.ts');

  it('is in order with what, promise and a proof that exists, by pattern too', () => {
    expect(found(rules.libraryOpening, file('libs/x/src/index.ts', opening('Proven in: part.spec.ts.')), part)).toEqual(
      [],
    );
    expect(
      found(
        rules.libraryOpening,
        file('libs/x/src/index.ts', opening('Proven in: lane/*.spec.ts.')),
        file('libs/x/src/lane/a.spec.ts'),
      ),
    ).toEqual([]);
  });

  it('is missed when there is no front door, no comment, no promise or no proof', () => {
    const at = 'library-opening libs/x/src/index.ts';
    expect(found(rules.libraryOpening, part)).toEqual([at]);
    expect(found(rules.libraryOpening, file('libs/x/src/index.ts', 'export {};\n'), part)).toEqual([at]);
    expect(
      found(rules.libraryOpening, file('libs/x/src/index.ts', opening('Proven in: part.spec.ts.', 'It holds.')), part),
    ).toEqual([at]);
    expect(found(rules.libraryOpening, file('libs/x/src/index.ts', opening('Proven in: everyday use.')), part)).toEqual(
      [at],
    );
  });

  it('does not take a proof that is not there, nor one of another library', () => {
    const index = file('libs/x/src/index.ts', opening('Proven in: part.spec.ts.'));
    expect(found(rules.libraryOpening, index)).toEqual(['proof-exists libs/x/src/index.ts']);
    expect(
      rules.libraryOpening([index, file('libs/y/src/part.spec.ts')]).filter((one) => one.file === index.path),
    ).toHaveLength(1);
  });
});

describe('what is switched off in place', () => {
  const off = `// eslint-${'disable-next-line'} no-console`;
  const expected = `// @ts-${'expect-error'}`;

  it('gives its reason', () => {
    expect(
      found(
        rules.switchedOffWithReason,
        file('a.ts', `${off} -- the user asked for it\n${expected} the stub lacks this field\n`),
      ),
    ).toEqual([]);
  });

  it('is refused without one', () => {
    expect(found(rules.switchedOffWithReason, file('a.ts', `${off}\n`), file('b.ts', `${expected}\n`))).toEqual([
      'switched-off-without-reason a.ts',
      'switched-off-without-reason b.ts',
    ]);
  });
});

describe('machine paths', () => {
  it.each(['/home/' + 'ann/pedigree', '/' + 'work/main', '/Users/' + 'ann/x', '/' + 'root/x', 'C:\\' + 'Users\\ann'])(
    'refuses %s',
    (path) => expect(found(rules.machinePaths, file('a.md', `see\n${path}\n`))).toEqual(['machine-path a.md']),
  );

  it.each(['/var/lib/pedigree', 'docs/work/x', './root/x', '${dir}/home/ann/'])('leaves %s alone', (path) =>
    expect(found(rules.machinePaths, file('a.md', path))).toEqual([]),
  );
});

describe('foreign hosts', () => {
  it.each(['https://' + 'registry.npmjs.org/x', 'http://' + '10.1.2.3:4873/', 'postgres://a:b@' + 'db.corp.net/x'])(
    'refuses %s',
    (url) => expect(found(rules.foreignHosts, file('a.ts', `const url = '${url}';`))).toEqual(['foreign-host a.ts']),
  );

  it.each([
    'http://127.0.0.1:8080',
    'http://localhost/x',
    'https://registry.example/api',
    'https://mdlp.example.com',
    'http://www.w3.org/2001/XMLSchema',
    'postgres://u:p@postgres:5432/x',
    'http://${host}/',
    'http://[::1]:80/',
  ])('leaves %s alone', (url) => expect(found(rules.foreignHosts, file('a.ts', `const url = '${url}';`))).toEqual([]));
});

describe('packages', () => {
  it('have no host in the lock file', () => {
    expect(
      found(rules.lockWithoutHosts, file('package-lock.json', '{"version":"1.0.0","integrity":"sha512-x"}')),
    ).toEqual([]);
    expect(found(rules.lockWithoutHosts, file('package-lock.json', '{"resolved": "https://x.example/a.tgz"}'))).toEqual(
      ['lock-without-hosts package-lock.json'],
    );
  });

  it('are all in the lock file, wherever Node would find them', () => {
    const lock = (packages: object): TreeFile => file('package-lock.json', JSON.stringify({ packages }));
    const some = { version: '1.0.0' };
    const a = 'node_modules/a';
    expect(
      found(
        rules.lockComplete,
        lock({ '': { dependencies: { a: '1' } }, [a]: { ...some, dependencies: { b: '1' } }, 'node_modules/b': some }),
      ),
    ).toEqual([]);
    expect(
      found(
        rules.lockComplete,
        lock({ '': {}, [a]: { ...some, dependencies: { b: '1' } }, [`${a}/node_modules/b`]: some }),
      ),
    ).toEqual([]);
    expect(
      found(
        rules.lockComplete,
        lock({ [`${a}/node_modules/@s/b`]: { ...some, dependencies: { c: '1' } }, [`${a}/node_modules/c`]: some }),
      ),
    ).toEqual([]);
    expect(found(rules.lockComplete, lock({ '': { dependencies: { a: '1' } } }))).toHaveLength(1);
    expect(found(rules.lockComplete, lock({ [a]: { ...some, optionalDependencies: { 'a-darwin': '1' } } }))).toEqual([
      'lock-complete package-lock.json',
    ]);
    expect(
      found(
        rules.lockComplete,
        lock({ [a]: { ...some, dependencies: { c: '1' } }, 'node_modules/b/node_modules/c': some }),
      ),
    ).toHaveLength(1);
    expect(found(rules.lockComplete)).toHaveLength(1);
  });

  it.each(['^1.2.3', '~1.2.3', '1.2', '*', 'latest', '>=1.2.3', 'npm:other@1.2.3', 'https://x.example/a.tgz'])(
    'refuse the version %s',
    (version) => {
      for (const part of ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides']) {
        expect(found(rules.exactVersions, file('package.json', JSON.stringify({ [part]: { pkg: version } })))).toEqual([
          'exact-version package.json',
        ]);
      }
    },
  );

  it('take exact ones, and look into nested overrides', () => {
    expect(
      found(rules.exactVersions, file('package.json', '{"dependencies":{"a":"1.2.3","b":"18.4.0-beta.17"}}')),
    ).toEqual([]);
    expect(found(rules.exactVersions, file('package.json', '{"overrides":{"a":{"b":"^1.0.0"}}}'))).toHaveLength(1);
    expect(found(rules.exactVersions)).toEqual(['exact-version package.json']);
  });
});

describe('documented commands', () => {
  const readme = file(
    'README.md',
    'Text.\n\n```sh run until="is up"\n# a remark\nnpx pedigree --help  # what it can do\nnpx pedigree config ' +
      '\\\n  --json\n```\n\n```sh\nnpm start\n```\n',
  );
  const entry = (command: string) => ({ document: 'README.md', command, ranBy: 'test/docs.spec.ts' });
  const list = (...entries: object[]): TreeFile => file('test/gates/documented-commands.json', JSON.stringify(entries));
  const test = file('test/docs.spec.ts');

  it('are the lines of the marked blocks, remarks left out and broken lines joined', () => {
    expect(rules.markedCommands([readme]).map((one) => one.command)).toEqual([
      'npx pedigree --help',
      'npx pedigree config --json',
    ]);
  });

  it('must be listed with a test that exists, and nothing else may be', () => {
    const both = [entry('npx pedigree --help'), entry('npx pedigree config --json')];
    expect(found(rules.documentedCommands, readme, list(...both), test)).toEqual([]);
    expect(found(rules.documentedCommands, readme, list(...both.slice(1)), test)).toEqual([
      'documented-command README.md',
    ]);
    expect(found(rules.documentedCommands, readme, list(...both, entry('npm run gone')), test)).toEqual([
      'documented-command test/gates/documented-commands.json',
    ]);
    expect(found(rules.documentedCommands, readme, list(...both))).toHaveLength(2);
    expect(
      found(rules.documentedCommands, readme, list({ document: 'README.md', ranBy: 'test/docs.spec.ts' }), test),
    ).toEqual([]);
    expect(
      found(rules.documentedCommands, readme, list({ document: 'docs/other.md', ranBy: 'test/docs.spec.ts' }), test),
    ).toHaveLength(3);
  });
});

describe('document links', () => {
  it('lead to files that exist, from where the document lies', () => {
    const files = [
      file(
        'docs/a.md',
        '[b](b.md#part) [lib](../libs/x/src) [home](../README.md) [web](https://x.example) [here](#part)',
      ),
      file('docs/b.md'),
      file('README.md'),
      file('libs/x/src/index.ts'),
    ];
    expect(found(rules.documentLinks, ...files)).toEqual([]);
  });

  it('are refused when they do not', () => {
    expect(found(rules.documentLinks, file('docs/a.md', '[b](c.md)'), file('c.md'))).toEqual([
      'document-link docs/a.md',
    ]);
  });
});

describe('references', () => {
  const pages = [
    file('docs/registry-interface.md', '# The interface\n\n## 7. Errors\n\n### 7.3 Escaping (section 7)\n'),
    file('docs/principles.md', '## 2. Promises\n### 2.2 Send\n'),
    file('docs/decisions/0018-one-clock.md', '# 18. One clock\n'),
  ];
  const inSource = (text: string): string[] =>
    rules.references([...pages, file('libs/a.ts', text)]).map(({ message }) => message);

  it.each([
    '// undone once (registry-interface 7.3, 7), for promise (principles 2 and 2.2)\n',
    '/**\n * undone once (registry-interface\n * 7.3).\n */\n',
    "it('resends (decision 18)', () => undefined);\n",
    '// RFC 6962, 2.1.1 and the profile interface-v1\n',
  ])('lead to a heading: %j', (text) => expect(inSource(text)).toEqual([]));

  it.each([
    ['// (registry-interface 7.4)', 'registry-interface 7.4'],
    ['// see\n// (registry-interface 7,\n// 8)', 'registry-interface 8'],
    ['/** (public-facts 1) */', 'public-facts 1'],
    ['/*\n * (principles\n * 3)\n */', 'principles 3'],
    ['-- decision 19', 'decision 19'],
    ['// (interface 7.3)', 'interface 7'],
    ['// the interface, section 7.3', 'section 7.3'],
    ['// promise 2', 'promise 2'],
    ['// DESIGN, promised', 'DESIGN'],
    ['// as STYLE says', 'STYLE'],
    ['// shared/spec', 'shared/spec'],
  ])('are refused where there is none: %j', (text, what) =>
    expect(inSource(text)).toEqual(expect.arrayContaining([expect.stringContaining(`"${what}" leads to no heading`)])),
  );

  it('tell the line in which they begin', () =>
    expect(inSource('const a = 1;\n// (principles\n// 9)\n')).toEqual([expect.stringMatching(/^line 2: /)]));

  it('hold for the anchors of links', () => {
    const link = (anchor: string): TreeFile => file('docs/a.md', `[there](principles.md#${anchor}) [here](#own-part)`);
    const own = '\n## Own `part`!\n';
    expect(found(rules.references, ...pages, { ...link('22-send'), text: `${link('22-send').text}${own}` })).toEqual(
      [],
    );
    expect(found(rules.references, ...pages, link('sent'))).toEqual(['reference docs/a.md', 'reference docs/a.md']);
  });

  it('are left alone in migrations, which nobody may edit', () =>
    expect(found(rules.references, file('libs/tasks/src/migrations/1.sql', '-- promise 2\n'))).toEqual([]));
});

describe('cells of tables', () => {
  const row = (words: number, more = ''): TreeFile => file('docs/a.md', `| a | ${'word '.repeat(words)}${more} |\n`);

  it('hold 25 words, and code and addresses besides', () => {
    expect(found(rules.cellWords, row(25))).toEqual([]);
    expect(found(rules.cellWords, row(24, '`some words of code` [link](an/address.md)'))).toEqual([]);
    expect(found(rules.cellWords, file('docs/a.md', `\`\`\`\n| ${'word '.repeat(30)}|\n\`\`\`\n`))).toEqual([]);
  });

  it('are refused with more', () => expect(found(rules.cellWords, row(26))).toEqual(['cell-words docs/a.md']));
});

describe('merge markers', () => {
  it('are refused at the beginning of a line', () => {
    expect(found(rules.mergeMarkers, file('a.ts', `x\n${'<'.repeat(7)} HEAD\n`))).toEqual(['merge-marker a.ts']);
    expect(found(rules.mergeMarkers, file('a.ts', 'const a = 1 << 7;\n'))).toEqual([]);
  });
});
