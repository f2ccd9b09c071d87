import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { XmlCData, XmlComment, XmlDocument, XmlElement, XmlText, type XmlTreeNode } from 'libxml2-wasm';
import { readdirSync, readFileSync } from 'node:fs';
import { PedigreeError } from '#kernel';
import { sized } from '../../../../test/support/sized.js';
import { Walk, walkXml, type XmlListener } from '../walk-xml.js';
import { readPlain } from './plain.js';
import { readBySaxes } from './saxes.js';
import { textOf } from './text.js';

const SEED = 20261123;
const DOCUMENTS = sized({ test: 1_000, soak: 40_000 });
const folder = new URL('../../fixtures/', import.meta.url);
const fixtures = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** What a reader understood, event by event, and how it ended. */
interface Understood {
  events: unknown[][];
  refusal?: { code: string; message: string; place: unknown };
}

function understood(walk: (listener: XmlListener) => void): Understood {
  const events: unknown[][] = [];
  try {
    walk({
      open: (name, attributes, { depth, line }) => events.push(['open', name, Object.entries(attributes), depth, line]),
      leaf: ({ name, text, plain, depth, line }) => events.push(['leaf', name, text, plain, depth, line]),
      close: (name, depth) => events.push(['close', name, depth]),
    });
    return { events };
  } catch (error) {
    if (!(error instanceof PedigreeError)) throw error;
    return { events, refusal: { code: error.code, message: error.message, place: error.place } };
  }
}

const byProduct = (bytes: Buffer): Understood => understood((listener) => walkXml(bytes, listener));
const bySaxes = (bytes: Buffer): Understood => understood((listener) => readBySaxes(textOf(bytes), new Walk(listener)));

/** What libxml2 understood, which validates documents; undefined where it refuses. */
function byLibxml2(bytes: Buffer): unknown[][] | undefined {
  let document;
  try {
    document = XmlDocument.fromBuffer(bytes);
  } catch {
    return undefined;
  }
  const events: unknown[][] = [];
  tell(document.root, 0, events);
  document.dispose();
  return events;
}

function tell(element: XmlElement, depth: number, events: unknown[][]): void {
  const { name, line, attrs } = element;
  const own = attrs.filter(({ prefix }) => prefix === '').map((one) => [one.name, one.value]);
  events.push(['open', name, own, depth, line]);
  const children: XmlTreeNode[] = [];
  for (let child = element.firstChild; child !== null; child = child.next) children.push(child);
  const inner = children.filter((child) => child instanceof XmlElement);
  for (const child of inner) tell(child, depth + 1, events);
  if (inner.length > 0) return void events.push(['close', name, depth]);
  const texts = children.filter((child) => !(child instanceof XmlComment));
  const plain = children.every((child) => child instanceof XmlText && !(child instanceof XmlCData));
  events.push(['leaf', name, texts.map((child) => child.content).join(''), plain, depth, undefined]);
}

/**
 * What both tell. libxml2 keeps no lines of closing tags, and takes a carriage return alone for no end of a line; its
 * package drops a byte order mark at the beginning of a value.
 */
function comparable(events: unknown[][], bytes: Buffer): unknown[][] {
  const hasLines = !/\r(?!\n)/.test(bytes.toString());
  const shown = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(shown) : typeof value === 'string' ? value.replace(/^\ufeff/, '') : value;
  return events.map(([kind, ...event]) => [
    kind,
    ...event.slice(0, kind === 'leaf' || (kind === 'open' && !hasLines) ? -1 : undefined).map(shown),
  ]);
}

/** How far the plain reader came: to the end, some way, or nowhere. */
function reach(bytes: Buffer): 'end' | 'some' | 'none' | 'refused' {
  try {
    const nothing = { open: () => {}, close: () => {}, text: () => {}, broken: () => {} };
    const place = readPlain(textOf(bytes), nothing);
    if (place === undefined) return 'end';
    return place.at > 0 ? 'some' : 'none';
  } catch {
    return 'refused';
  }
}

const counts = { end: 0, some: 0, none: 0, refused: 0, accepted: 0, judged: 0 };

function agree(bytes: Buffer): void {
  const read = byProduct(bytes);
  expect(read).toEqual(bySaxes(bytes));
  counts[reach(bytes)] += 1;
  if (read.refusal !== undefined) return;
  counts.accepted += 1;
  const validated = byLibxml2(bytes);
  if (validated === undefined) return;
  counts.judged += 1;
  expect(comparable(read.events, bytes)).toEqual(comparable(validated, bytes));
}

const some = (...texts: string[]): fc.Arbitrary<string> => fc.constantFrom(...texts);
/** More of what comes first: else nearly every document would be refused. */
const mostly = (usual: fc.Arbitrary<string>, odd: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });

const LINE_ENDS = ['\n', '\r\n', '\r', '\n\r', '\r\r\n'];
const BROKEN = ['<!-- a > b -->', '<!---->', '<!--\r\n-->', '<![CDATA[a<b&amp;]]>', '<![CDATA[]]>', '<![CDATA[\r\n]]>'];
const REFERENCES = ['&amp;', '&lt;', '&gt;', '&apos;', '&quot;', '&#48;', '&#x41;', '&#13;', '&#10;', '&#x1F600;'];
const WRONG = [
  '<',
  '&',
  '&x;',
  '&#0;',
  '&#xFFFF;',
  '&#X41;',
  '&amp',
  ']]>',
  '\0',
  '\u0001',
  '\u000b',
  '\uffff',
  '\ufffe',
];
const WRONG_TAGS = [
  '<b',
  '</b>',
  '<b>',
  '</>',
  '<>',
  '< b/>',
  '<1/>',
  '<b/ >',
  '<?x?>',
  '<!x>',
  '<!DOCTYPE b>',
  '<!--',
  '<!----->',
];
const LETTERS = ['ж', '😀', '\u00a0', '\u0085', '\u2028', '\ufeff', '\ufffd', '\u007f', '\u0301', '𐀀'];

const text = mostly(
  some(
    '',
    '',
    '0',
    '04601234567893PEDIGREE00001',
    'A b',
    ' ',
    '\n',
    '\n  ',
    '>',
    ']',
    ']]',
    '\t',
    '"',
    "'",
    '=',
    '/',
    '--',
  ),
  some(...LINE_ENDS, ...REFERENCES, ...LETTERS, ...BROKEN, ...WRONG, ...WRONG_TAGS),
);
const texts = fc.array(text, { maxLength: 3 }).map((parts) => parts.join(''));
const between = mostly(
  some('', '', '\n', ' ', '\r\n\t'),
  some(...LINE_ENDS, ...BROKEN, ...WRONG, ...WRONG_TAGS, 'x', '&#32;'),
);
const name = mostly(
  some('sgtin', 'union', 'a', 'a-b.c_1', '_', 'sgtin2'),
  some('ж', 'aж', 'x:a', ':a', 'a:', '__proto__', 'constructor', '1a', '-a', 'a·', 'a\u0301'),
);
const value = mostly(
  some('', '1.38', 'a>b', ']]>', '/>', "'", 'ж', ' a  b '),
  some('"', '<', ...LINE_ENDS, '\t', ...REFERENCES, ...LETTERS, ...WRONG),
);
const attributeName = mostly(
  some('a', 'b', 'c', 'xmlns:x', 'version'),
  some('xmlns', 'x:a', 'xmlns:', ':', 'ж', '__proto__', 'xml:space', '2', 'xsi:schemaLocation', 'xmlns:xsi'),
);
const equals = mostly(fc.constant('='), some(' = ', '\n=', '= ', '', '=='));
const blank = mostly(fc.constant(' '), some('', '  ', '\n', '\r\n', '\t', '/', '\u00a0'));
const quoted = fc.oneof(
  { weight: 4, arbitrary: value.map((one) => `"${one}"`) },
  { weight: 2, arbitrary: value.map((one) => `'${one}'`) },
  { weight: 1, arbitrary: some('a', '"a\'', '', '"') },
);
const attribute = fc.tuple(blank, attributeName, equals, quoted).map((parts) => parts.join(''));
const attributes = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.array(attribute, { maxLength: 3 }).map((all) => all.join('')) },
);
const tagEnd = mostly(fc.constant('>'), some(' >', '\n>', '\r\n>', '/>', '', '\u00a0>'));
const emptyEnd = mostly(fc.constant('/>'), some(' />', '\n/>', '/ >', '>'));

const { element } = fc.letrec<{ element: string; content: string }>((tie) => ({
  element: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.tuple(name, attributes, emptyEnd).map(([tag, all, end]) => `<${tag}${all}${end}`),
    fc.tuple(name, attributes, tagEnd, texts).map(([tag, all, end, inner]) => `<${tag}${all}${end}${inner}</${tag}>`),
    fc
      .tuple(name, attributes, tagEnd, tie('content'), mostly(fc.constant('>'), some(' >', '\n>', '', ' a>')))
      .map(([tag, all, end, inner, last]) => `<${tag}${all}${end}${inner}</${tag}${last}`),
  ),
  content: fc
    .array(fc.tuple(between, tie('element')), { maxLength: 4 })
    .map((parts) => parts.flat().join('') + (parts.length > 0 ? '\n' : '')),
}));

const prolog = mostly(
  some(
    '',
    '\ufeff',
    '\n',
    '<?xml version="1.0"?>',
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    "\ufeff<?xml version='1.0' encoding='utf-8' standalone='yes'?>\r\n",
  ),
  some(
    '\ufeff\ufeff',
    '<?xml version="1.0"?>\ufeff',
    '\n<?xml version="1.0"?>',
    '<?xml version="1.0"?><?xml version="1.0"?>',
    '<?xml version="1.1"?>',
    '<?xml version="1.0\'?>',
    '<?xml version="1.0" encoding="windows-1251"?>',
    '<?xml version="1.0" encoding="utf8"?>',
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<?xml version="1.0" standalone="maybe"?>',
    '<?xml  version = "1.0"\n?>',
    '<?XML version="1.0"?>',
    '<?xml encoding="utf-8"?>',
    ' '.repeat(200),
    `<?xml version="1.0"?>${' '.repeat(65_537)}`,
    ' '.repeat(65_537),
    'x',
    ...BROKEN,
    ...LETTERS,
  ),
);
const epilog = mostly(
  some('', '\n', '\r\n'),
  some('<!-- x -->', ' x', '<a/>', '</a>', '\0', '&#32;', '\ufeff', '<![CDATA[ ]]>', '<?x?>', ' '.repeat(65_537)),
);
const odd = fc
  .tuple(
    prolog,
    fc.oneof(
      element,
      element.map((inner) => `<documents version="1.38">${inner}</documents>`),
    ),
    epilog,
  )
  .map((parts) => parts.join(''));

/** A real document with something put in somewhere, or cut out. */
const changed = fc
  .tuple(
    fc.constantFrom(...fixtures),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(12),
        fc.oneof(text, between, attribute, element, prolog, epilog, some(...WRONG, ...WRONG_TAGS, ...LETTERS)),
      ),
      { maxLength: 2 },
    ),
  )
  .map(([whole, changes]) =>
    changes.reduce((before, [at, cut, put]) => {
      const from = at % (before.length + 1);
      return before.slice(0, from) + put + before.slice(from + (cut > 6 ? cut - 6 : 0));
    }, whole),
  );

/** Other encodings than UTF-8, declared or not, and bytes that are none. */
const encoded = fc.oneof(
  fc
    .tuple(fc.oneof(odd, changed), some('utf16le', 'latin1'))
    .map(([one, encoding]) => Buffer.from(one, encoding as BufferEncoding)),
  fc.tuple(fc.oneof(odd, changed), fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 3 })).map(([one, at, put]) => {
    const bytes = Buffer.from(one);
    const from = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from)]);
  }),
);

describe(`the plain reader, saxes and libxml2 understand the same bytes alike (seed ${SEED})`, () => {
  it('in odd and hostile documents', () => {
    fc.assert(
      fc.property(odd, (one) => agree(Buffer.from(one))),
      { seed: SEED, numRuns: DOCUMENTS },
    );
  });

  it('in real documents that were changed', () => {
    fc.assert(
      fc.property(changed, (one) => agree(Buffer.from(one))),
      { seed: SEED, numRuns: DOCUMENTS },
    );
  });

  it('in documents of other encodings and of broken bytes', () => {
    fc.assert(fc.property(encoded, agree), { seed: SEED, numRuns: DOCUMENTS });
  });

  it('and the documents were of all kinds', () => {
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(DOCUMENTS / 50);
  });
});
