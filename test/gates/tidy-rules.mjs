/**
 * What the house style asks of the tree itself, beyond what a linter of one file can see. Each rule is a pure function
 * from the files to its findings, so that it can be proven on seeded input (tidy-rules.spec.ts).
 */

const MOST_LINES = 400;
const MOST_TEST_LINES = 600;
const MOST_FOLDERS_BELOW_SRC = 2;
const BANNED_NAMES = new Set(['util', 'utils', 'common', 'shared', 'helper', 'helpers', 'manager', 'managers', 'base']);
const CODE = /\.(ts|mts|mjs|js|sql)$/;
const TEST_FILE = /(\.spec\.ts$|^test\/)/;

const finding = (rule, file, message) => ({ rule, file, message });
const parent = (path) => path.slice(0, path.lastIndexOf('/'));
const lineOf = (text, index) => text.slice(0, index).split('\n').length;

/** A file that is longer than a reader can hold in the head. */
export function fileLines(files) {
  return files
    .filter((file) => file.text !== undefined && CODE.test(file.path))
    .map((file) => ({
      ...file,
      lines: file.text.replace(/\n$/, '').split('\n').length,
      most: TEST_FILE.test(file.path) ? MOST_TEST_LINES : MOST_LINES,
    }))
    .filter((file) => file.lines > file.most)
    .map((file) => finding('file-lines', file.path, `${file.lines} lines; at most ${file.most}`));
}

/** Names that say nothing about what is inside. */
export function bannedNames(files) {
  const findings = [];
  for (const { path } of files) {
    if (!/^(apps|libs|test)\//.test(path)) continue;
    const word = path.split(/[/.\-_]/).find((part) => BANNED_NAMES.has(part.toLowerCase()));
    if (word !== undefined) findings.push(finding('banned-name', path, `"${word}" says nothing: name the noun`));
  }
  return findings;
}

/** A noun's folder and a part of it; deeper is a maze. */
export function folderDepth(files) {
  return files
    .map((file) => ({
      path: file.path,
      folders: /^(?:apps|libs)\/[^/]+\/src\/(.*)$/.exec(file.path)?.[1]?.split('/').length ?? 0,
    }))
    .filter((file) => file.folders - 1 > MOST_FOLDERS_BELOW_SRC)
    .map((file) => finding('folder-depth', file.path, `at most ${MOST_FOLDERS_BELOW_SRC} folders below src`));
}

/** Every library opens with three lines: what, promise, where it is proven. The proof must exist. */
export function libraryOpening(files) {
  const libraries = new Set(
    files.map((file) => /^libs\/([^/]+)\/src\/.*\.ts$/.exec(file.path)?.[1]).filter((name) => name !== undefined),
  );
  return [...libraries].flatMap((name) => openingOf(name, files));
}

function openingOf(name, files) {
  const path = `libs/${name}/src/index.ts`;
  const index = files.find((file) => file.path === path);
  if (index === undefined) return [finding('library-opening', path, 'the library has no front door')];
  const comment = /^\/\*\*\n((?: \*.*\n)+?) \*\/\n/.exec(index.text)?.[1];
  if (comment === undefined)
    return [finding('library-opening', path, 'must open with a comment: what, `Promise:`, `Proven in:`')];
  const said = comment.replace(/^ \* ?/gm, '').replace(/\n/g, ' ');
  const [, what, , proof] = /^(.*?)\s*Promise:(.*?)Proven in:(.*)$/.exec(said) ?? [];
  if (proof === undefined || what === '')
    return [finding('library-opening', path, 'the opening lacks what, `Promise:` or `Proven in:`, in that order')];
  const specs = [...proof.matchAll(/[\w./*-]+\.spec\.ts/g)].map((match) => match[0]);
  if (specs.length === 0)
    return [finding('library-opening', path, 'the opening names no spec that proves the promise')];
  const own = files
    .filter((file) => file.path.startsWith(`libs/${name}/`) || file.path.startsWith('test/'))
    .map((file) => file.path);
  return specs
    .filter((spec) => !own.some((file) => matches(file, spec)))
    .map((spec) => finding('proof-exists', path, `names ${spec} as proof, and there is no such file`));
}

/** Whether `path` ends in the pattern, in which `*` stands for anything within one name. */
function matches(path, pattern) {
  const escaped = pattern.replace(/[.+]/g, '\\$&').replaceAll('*', '[^/]*');
  return new RegExp(`(^|/)${escaped}$`).test(path);
}

/** A rule that is switched off in place says why: `-- reason` after the rule's name. */
export function switchedOffWithReason(files) {
  const off = new RegExp(`(eslint-${'disable'}\\S*|@ts-${'expect-error'})([^\\n]*)`, 'g');
  return files
    .filter((file) => file.text !== undefined && /\.(ts|mjs)$/.test(file.path))
    .flatMap((file) =>
      [...file.text.matchAll(off)]
        .filter((match) => !(match[1].startsWith('@') ? /\S{3}/ : / -- \S/).test(match[2]))
        .map((match) =>
          finding(
            'switched-off-without-reason',
            file.path,
            `line ${lineOf(file.text, match.index)}: ${match[0].trim()}`,
          ),
        ),
    );
}

/** Folders of one machine or one person. A product's own places (/var/lib/pedigree) are not among them. */
const MACHINE_PATHS = [/(?<![\w.$}])\/(?:work|home\/[a-z_][\w-]*|Users\/\w+|root)\//, /\b[A-Z]:\\(?:Users|work)\\/i];

export function machinePaths(files) {
  return files
    .filter((file) => file.text !== undefined)
    .flatMap((file) =>
      MACHINE_PATHS.map((pattern) => pattern.exec(file.text))
        .filter((match) => match !== null)
        .map((match) => finding('machine-path', file.path, `line ${lineOf(file.text, match.index)}: ${match[0]}`)),
    );
}

/** Hosts that sources and documents may name: ourselves, names reserved for examples, and standards that are cited. */
const KNOWN_HOSTS = [
  /^(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])$/,
  /(^|\.)(example|test|invalid|localhost)$/,
  /(^|\.)example\.(com|org|net)$/,
  /^(www\.w3\.org|www\.apache\.org|json\.schemastore\.org|json-schema\.org|spec\.openapis\.org|www\.rfc-editor\.org|datatracker\.ietf\.org|c2sp\.org|ref\.gs1\.org|id\.gs1\.org|nodejs\.org)$/,
  // Addresses that no webhook may reach, as their tests name them: link-local, shared, multicast, two private ones; and
  // their other spellings.
  /^(169\.254|224|100\.100)\.[\d.]+$/,
  /^10\.0\.0\.[78]$/,
  /^(0x[0-9a-f]{8}|\d{8,10}|\[f[cde][0-9a-f:]*\]|\[(64:ff9b:|2001:0:|2001:db8:|2002:a9fe:)[0-9a-f:]*\])$/i,
  // Services of a compose file and of a container network have names without a dot.
  /^[a-z][a-z0-9-]*$/,
];
const URL_HOST =
  /\b(?:https?|amqps?|postgres(?:ql)?|esdb|kurrentdb|wss?):\/\/(?:[^\s@/'"`<>]*@)?(\[[0-9a-f:]*\]|[A-Za-z0-9][A-Za-z0-9.-]*)/g;

export function foreignHosts(files) {
  return files
    .filter((file) => file.text !== undefined && !/(^LICENSE$|^package-lock\.json$|\.xsd$|\.xml$)/.test(file.path))
    .flatMap((file) =>
      [...file.text.matchAll(URL_HOST)]
        .filter((match) => !KNOWN_HOSTS.some((known) => known.test(match[1])))
        .map((match) => finding('foreign-host', file.path, `line ${lineOf(file.text, match.index)}: ${match[1]}`)),
    );
}

/** The lock file names versions and digests; where packages come from is the business of the machine that installs. */
export function lockWithoutHosts(files) {
  return files
    .filter((file) => file.path.endsWith('package-lock.json') && file.text !== undefined)
    .filter((file) => /"resolved"\s*:\s*"(?!file:)/.test(file.text) || /https?:\/\/[^"]*\.tgz/.test(file.text))
    .map((file) => finding('lock-without-hosts', file.path, 'names the hosts of packages ("resolved")'));
}

/**
 * The lock file holds every package that its packages name, those of other platforms too: with one missing, `npm ci`
 * refuses the whole installation, and a machine that happens to have everything already does not notice.
 */
export function lockComplete(files) {
  const lock = files.find((file) => file.path === 'package-lock.json');
  if (lock?.text === undefined) return [finding('lock-complete', 'package-lock.json', 'there is none')];
  const { packages = {} } = JSON.parse(lock.text);
  const needs = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }).map((name) => ({ path, name })),
  );
  return needs
    .filter(({ path, name }) => !places(path, name).some((place) => packages[place]?.version !== undefined))
    .map(({ path, name }) =>
      finding('lock-complete', 'package-lock.json', `${name}, which ${path || 'the product'} names, is missing`),
    );
}

/** Where Node looks for a package from a folder, nearest first. */
function places(path, name) {
  const found = [`${path === '' ? '' : `${path}/`}node_modules/${name}`];
  for (
    let at = path.lastIndexOf('node_modules/');
    at >= 0;
    at = at === 0 ? -1 : path.lastIndexOf('node_modules/', at - 1)
  )
    found.push(`${path.slice(0, at)}node_modules/${name}`);
  return found;
}

/** Versions are exact: an installation of today and of next year are the same. */
export function exactVersions(files) {
  const manifest = files.find((file) => file.path === 'package.json');
  if (manifest?.text === undefined) return [finding('exact-version', 'package.json', 'there is none')];
  const parts = JSON.parse(manifest.text);
  return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'overrides']
    .flatMap((part) => leaves(parts[part] ?? {}))
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version))
    .map(([name, version]) => finding('exact-version', 'package.json', `${name} is "${version}"`));
}

const leaves = (node) =>
  Object.entries(node).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : leaves(value)));

/**
 * Command lines of the blocks that a document marks as run: a fence whose info string begins with a shell's name and
 * the word run.
 * @returns {{ document: string, command: string }[]}
 */
export function markedCommands(files) {
  const block = /^```(?:sh|bash|shell) run\b[^\n]*\n([\s\S]*?)^```/gm;
  return files
    .filter((file) => file.text !== undefined && /(^README\.md|^docs\/.*\.md|^apps\/.*\.md)$/.test(file.path))
    .flatMap((file) => [...file.text.matchAll(block)].flatMap((match) => commandsOf(file.path, match[1])));
}

function commandsOf(document, block) {
  const lines = block.replace(/\\\n\s*/g, '').split('\n');
  return lines
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((command) => ({ document, command }));
}

/**
 * Each command that a document marks as run is in the list, with the test that runs it, and the list holds nothing
 * else. A document without a command stands for all of its commands.
 */
export function documentedCommands(files) {
  const listPath = 'test/gates/documented-commands.json';
  const listed = JSON.parse(files.find((file) => file.path === listPath)?.text ?? '[]');
  const marked = markedCommands(files);
  const same = (a, b) => a.document === b.document && (b.command === undefined || a.command === b.command);
  return [
    ...marked
      .filter((one) => !listed.some((other) => same(one, other)))
      .map((one) =>
        finding('documented-command', one.document, `\`${one.command}\` is marked run and not in ${listPath}`),
      ),
    ...listed
      .filter((one) => !marked.some((other) => same(other, one)))
      .map((one) =>
        finding(
          'documented-command',
          listPath,
          `\`${one.command ?? 'a command'}\` is not marked run in ${one.document}`,
        ),
      ),
    ...listed
      .filter((one) => !files.some((file) => file.path === one.ranBy))
      .map((one) =>
        finding(
          'documented-command',
          listPath,
          `${one.ranBy}, which should run \`${one.command ?? one.document}\`, does not exist`,
        ),
      ),
  ];
}

/** A document that points at a file which is not there misleads. Anchors and addresses are left alone. */
export function documentLinks(files) {
  const paths = new Set(files.flatMap((file) => ancestors(file.path)));
  return files
    .filter((file) => file.text !== undefined && file.path.endsWith('.md'))
    .flatMap((file) =>
      [...file.text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
        .map((match) => ({ target: normalise(file.path, match[1]), line: lineOf(file.text, match.index) }))
        .filter(({ target }) => !paths.has(target))
        .map(({ target, line }) => finding('document-link', file.path, `line ${line}: ${target} does not exist`)),
    );
}

const ancestors = (path) => path.split('/').map((_, count, parts) => parts.slice(0, count + 1).join('/'));

function normalise(from, target) {
  const parts = from.includes('/') ? parent(from).split('/') : [];
  for (const part of target.replace(/\/$/, '').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Pages whose sections sources and documents cite, as in `(registry-interface 7.3)` or `(principles 2.2)`. */
const CITED_PAGES = ['registry-interface', 'public-facts', 'principles'];
const NUMBERS = String.raw`\d+(?:\.\d+)*(?:(?:,| and| to)\s+\d+(?:\.\d+)*)*`;
const CITATION = new RegExp(String.raw`(?<![\w-])(${CITED_PAGES.join('|')}|decisions?)\s+(${NUMBERS})`, 'gi');
const OWN_SECTION = new RegExp(String.raw`\bsections?\s+(${NUMBERS})`, 'gi');
/** Texts that the repository does not hold, and references that do not say to which page. */
const UNRESOLVED = new RegExp(
  String.raw`\b(?:DESI${'GN'}|STY${'LE'}|STA${'CK'})\b|\bshared/(?:spec|[A-Z]+\.md)|` +
    String.raw`\b(?:monitoring-service|audit-and-exchange|document-types)\.md|` +
    String.raw`(?<![\w-])interface,?\s+(?:section\s+)?\d|\bpromise\s+\d`,
  'g',
);
/**
 * Applied migrations, whose digest is kept, so that not even a comment is edited; texts of others; and what seeds or
 * counts such texts.
 */
const NOT_JUDGED =
  /(\/migrations\/|^LICENSE$|^package-lock\.json$|\.xsd$|\.xml$|^test\/gates\/(?:tidy-rules\.spec\.ts|canary-seeds\.mjs|measure\.mjs)$)/;
const HEADING = /^#{1,6} +(.+?) *$/gm;

/**
 * Each reference to a section or a decision leads to a heading of the repository, and so does the anchor of each link.
 * A page with numbered headings may say "section N" of itself.
 */
export function references(files) {
  const pages = new Map(files.filter(isMarkdown).map((file) => [file.path, headingsOf(file.text)]));
  const known = (name, number) =>
    /^decision/i.test(name)
      ? files.some(({ path }) => path.startsWith(`docs/decisions/${number.padStart(4, '0')}-`))
      : (pages.get(`docs/${name.toLowerCase()}.md`)?.numbers.has(number) ?? false);
  return files
    .filter((file) => file.text !== undefined && !NOT_JUDGED.test(file.path))
    .flatMap((file) =>
      [
        ...danglingCitations(file.text, known),
        ...danglingSections(file.text, pages.get(file.path)?.numbers ?? new Set()),
        ...[...unbroken(file.text).matchAll(UNRESOLVED)].map((match) => [match.index, match[0]]),
        ...danglingAnchors(file, pages),
      ].map(([index, what]) =>
        finding('reference', file.path, `line ${lineOf(file.text, index)}: "${what}" leads to no heading`),
      ),
    );
}

const isMarkdown = (file) => file.text !== undefined && file.path.endsWith('.md');
const numbersIn = (text) => text.match(/\d+(?:\.\d+)*/g) ?? [];

function headingsOf(text) {
  const titles = [...text.matchAll(HEADING)].map((match) => match[1]);
  return {
    numbers: new Set(titles.map((title) => /^\d+(?:\.\d+)*/.exec(title)?.[0]).filter((number) => number !== undefined)),
    anchors: new Set(titles.map(anchorOf)),
  };
}

/** As the pages' hosts make it: lower case, without punctuation, blanks as hyphens. */
const anchorOf = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

/** The text with its places kept, and with comments that are one line each: a reference may be broken at its blank. */
const unbroken = (text) => text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|--|#)?/g, (gap) => ' '.repeat(gap.length));

function danglingCitations(text, known) {
  return [...unbroken(text).matchAll(CITATION)].flatMap((match) =>
    numbersIn(match[2])
      .filter((number) => !known(match[1], number))
      .map((number) => [match.index, `${match[1]} ${number}`]),
  );
}

function danglingSections(text, own) {
  return [...unbroken(text).matchAll(OWN_SECTION)].flatMap((match) =>
    numbersIn(match[1])
      .filter((number) => !own.has(number))
      .map((number) => [match.index, `section ${number}`]),
  );
}

function danglingAnchors(file, pages) {
  if (!isMarkdown(file)) return [];
  return [...file.text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g)]
    .filter(([, path, anchor]) => {
      const page = pages.get(path === '' ? file.path : normalise(file.path, path));
      return page !== undefined && !page.anchors.has(anchor);
    })
    .map((match) => [match.index, `${match[1]}#${match[2]}`]);
}

const MOST_CELL_WORDS = 25;

/** A cell of a table is read at a glance. Its words are those outside code and outside the addresses of links. */
export function cellWords(files) {
  return files.filter(isMarkdown).flatMap((file) =>
    file.text
      .replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''))
      .split('\n')
      .flatMap((row, i) => (row.startsWith('|') ? row.split(/(?<!\\)\|/) : []).map((cell) => [i + 1, wordsIn(cell)]))
      .filter(([, words]) => words > MOST_CELL_WORDS)
      .map(([line, words]) =>
        finding('cell-words', file.path, `line ${line}: a cell of ${words} words; at most ${MOST_CELL_WORDS}`),
      ),
  );
}

const wordsIn = (cell) =>
  cell
    .replace(/`[^`]*`/g, ' ')
    .replace(/\]\([^)]*\)/g, ' ')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** A line that a merge left behind. */
export function mergeMarkers(files) {
  return files
    .filter((file) => file.text !== undefined && /^(<{7} |>{7} )/m.test(file.text))
    .map((file) => finding('merge-marker', file.path, 'a merge was left unfinished'));
}

export const TIDY_RULES = [
  fileLines,
  bannedNames,
  folderDepth,
  libraryOpening,
  switchedOffWithReason,
  machinePaths,
  foreignHosts,
  lockWithoutHosts,
  lockComplete,
  exactVersions,
  documentedCommands,
  documentLinks,
  references,
  cellWords,
  mergeMarkers,
];
