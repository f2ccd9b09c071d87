import { describe, expect, it } from '@jest/globals';
import { PedigreeError } from '#kernel';
import { checkDocument } from './check-document.js';
import { readDocument } from './read-document.js';
import { readReceipt } from './read-receipt.js';
import { MAX_DOCUMENT_BYTES } from './xml/text.js';

const SGTIN = '04601234567893PEDIGREE00001';
const OTHER = '04601234567893PEDIGREE00002';
const item = `<sgtin>${SGTIN}</sgtin>`;
const body = (content: string): string =>
  `<accept action_id="701"><subject_id>00000000100930</subject_id><counterparty_id>00000000100931</counterparty_id>` +
  `<operation_date>2026-11-20T10:15:00+03:00</operation_date><order_details>${content}</order_details></accept>`;
const document = (content: string): string => `<documents version="1.38">${body(content)}</documents>`;
const onRoot = (attributes: string): string => document(item).replace('<documents', `<documents ${attributes}`);
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');

const laughs = Array.from({ length: 9 }, (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`).join('');
const nested = (depth: number): string => '<x>'.repeat(depth) + '</x>'.repeat(depth);

const HOSTILE: [string, string | Buffer, string][] = [
  ['a DOCTYPE', `<!DOCTYPE documents>${document(item)}`, 'forbidden_xml'],
  [
    'a DOCTYPE after a declaration',
    `<?xml version="1.0"?><!DOCTYPE documents SYSTEM "x.dtd">${document(item)}`,
    'forbidden_xml',
  ],
  [
    'ten to the ninth laughs',
    `<!DOCTYPE documents [<!ENTITY a0 "${SGTIN}">${laughs}]>${document('<sgtin>&a9;</sgtin>')}`,
    'forbidden_xml',
  ],
  [
    'an external entity',
    `<!DOCTYPE documents [<!ENTITY x SYSTEM "file:///etc/passwd">]>${document('<sgtin>&x;</sgtin>')}`,
    'forbidden_xml',
  ],
  [
    'a parameter entity',
    `<!DOCTYPE documents [<!ENTITY % x SYSTEM "http://127.0.0.1:1/">%x;]>${document(item)}`,
    'forbidden_xml',
  ],
  ['a DOCTYPE that never ends', '<!DOCTYPE documents [<!ENTITY a "', 'forbidden_xml'],
  ['a DOCTYPE in a comment', document(`<!-- <!DOCTYPE x> -->${item}`), 'forbidden_xml'],
  ['an undefined entity', document('<sgtin>&pack;</sgtin>'), 'forbidden_xml'],
  ['an undefined entity in an attribute', document(item).replace('1.38', '&v;'), 'forbidden_xml'],
  ['a processing instruction', `<?xml-stylesheet href="x"?>${document(item)}`, 'forbidden_xml'],
  ['a processing instruction within', document(`<?php x?>${item}`), 'forbidden_xml'],
  ['a second XML declaration', document(`<?xml version="1.0"?>${item}`), 'forbidden_xml'],
  ['XML 1.1', `<?xml version="1.1"?>${document(item)}`, 'forbidden_xml'],
  ['UTF-16', utf16(document(item)), 'forbidden_xml'],
  ['UTF-16 without a mark', utf16(document(item)).subarray(2), 'forbidden_xml'],
  ['UTF-16 that is declared and untrue', `<?xml version="1.0" encoding="UTF-16"?>${document(item)}`, 'forbidden_xml'],
  [
    'windows-1251',
    Buffer.concat([
      Buffer.from('<?xml version="1.0" encoding="windows-1251"?><documents version="1.38'),
      Buffer.from([0xcf, 0xf0]),
      Buffer.from('"/>'),
    ]),
    'forbidden_xml',
  ],
  [
    'bytes that are no UTF-8',
    Buffer.concat([Buffer.from('<documents version="'), Buffer.from([0xc3, 0x28]), Buffer.from('"/>')]),
    'malformed_xml',
  ],
  [
    'an overlong encoding',
    Buffer.concat([Buffer.from('<documents version="'), Buffer.from([0xc0, 0xbc]), Buffer.from('"/>')]),
    'malformed_xml',
  ],
  ['a NUL byte', document(`<sgtin>${SGTIN}\0</sgtin>`), 'malformed_xml'],
  ['a NUL reference', document(`<sgtin>${SGTIN}&#0;</sgtin>`), 'malformed_xml'],
  ['a control character', document(`<sgtin>${SGTIN}\u0001</sgtin>`), 'malformed_xml'],
  ['an unclosed element', document(item).replace('</accept>', ''), 'malformed_xml'],
  ['a text that is cut off', document(item).slice(0, -20), 'malformed_xml'],
  ['two roots', document(item) + document(item), 'malformed_xml'],
  ['text after the end', `${document(item)}x`, 'malformed_xml'],
  ['nothing', '', 'malformed_xml'],
  ['no XML', 'hello', 'malformed_xml'],
  ['JSON', '{"action_id":701}', 'malformed_xml'],
  ['an attribute twice', document(item).replace('version="1.38"', 'version="1.38" version="1.38"'), 'malformed_xml'],
  ['deep nesting', document(nested(10_000)), 'forbidden_xml'],
  ['a huge attribute', document(item).replace('1.38', '9'.repeat(1_000_000)), 'schema_violation'],
  ['a huge text', document(`<sgtin>${'9'.repeat(1_000_000)}</sgtin>`), 'schema_violation'],
  ['two action elements', `<documents version="1.38">${body(item)}${body(item)}</documents>`, 'schema_violation'],
  ['a namespace', document(item).replace('<documents', '<documents xmlns="urn:x"'), 'forbidden_xml'],
  ['a namespace on an inner element', document(item.replace('<sgtin', '<sgtin xmlns="urn:x"')), 'forbidden_xml'],
  ['a type of its own', onRoot(`${XSI} xsi:type="x"`), 'forbidden_xml'],
  ['nothing in place of a value', document(item.replace('<sgtin', `<sgtin ${XSI} xsi:nil="true"`)), 'forbidden_xml'],
  ['an attribute in a namespace', onRoot('xmlns:x="urn:x" x:schemaLocation="urn:x x.xsd"'), 'forbidden_xml'],
  ['a prefix', document(`<x:sgtin xmlns:x="urn:x">${SGTIN}</x:sgtin>`), 'forbidden_xml'],
  ['a prefix that stands for nothing', document(`<x:sgtin>${SGTIN}</x:sgtin>`), 'forbidden_xml'],
  [
    'a schema location',
    document(item).replace('<documents', '<documents xsi:noNamespaceSchemaLocation="http://127.0.0.1:1/"'),
    'forbidden_xml',
  ],
  ['an SGTIN around a comment', document(`<sgtin>04601234567893<!-- -->PEDIGREE00001</sgtin>`), 'invalid_identifier'],
  ['an SGTIN in CDATA', document(`<sgtin><![CDATA[${SGTIN}]]></sgtin>`), 'invalid_identifier'],
  [
    'an SGTIN that ends in CDATA',
    document(`<sgtin>04601234567893<![CDATA[PEDIGREE00001]]></sgtin>`),
    'invalid_identifier',
  ],
  ['text between the items', document(`${item}${OTHER}${item}`), 'schema_violation'],
  ['a member of every object', document('<__proto__>1</__proto__>'), 'schema_violation'],
];

function refusalOf(read: () => unknown): PedigreeError {
  try {
    read();
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe.each(HOSTILE)('given %s', (_, text, code) => {
  const bytes = Buffer.from(text as string);

  it('the reader and the checker refuse it with the same clear error', () => {
    const error = refusalOf(() => readDocument(bytes));
    expect(error.code).toBe(code);
    expect(Object.keys(error.place)).not.toHaveLength(0);
    expect(error.message.length).toBeLessThan(400);
    expect(refusalOf(() => checkDocument(bytes)).message).toBe(error.message);
  });

  it('the receipt reader refuses it too', () => {
    expect(refusalOf(() => readReceipt(bytes))).toBeInstanceOf(PedigreeError);
  });
});

describe('given what looks odd and is plain XML', () => {
  it('an item in a comment or a CDATA section of another field is not an item', () => {
    const text = document(`<!-- <sgtin>${OTHER}</sgtin> -->${item}`).replace(
      '<order_details>',
      `<note><![CDATA[<sgtin>${OTHER}</sgtin>]]></note><order_details>`,
    );
    const facts = readDocument(Buffer.from(text));
    expect(facts.items.map((one) => one.id)).toEqual([SGTIN]);
    expect(facts.fields.note).toBe(`<sgtin>${OTHER}</sgtin>`);
  });

  it.each([
    ['a byte order mark', `\uFEFF${document(item)}`],
    ['an XML declaration', `<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n${document(item)}`],
    ['a prefix that nothing uses', onRoot('xmlns:ns2="urn:registry:wsdl"')],
    ['a prefix on an inner element', document(item.replace('<sgtin', "<sgtin xmlns:a='urn:a'"))],
    ['an empty default namespace', onRoot('xmlns=""')],
    ['a place of a schema', onRoot(`${XSI} xsi:noNamespaceSchemaLocation="http://127.0.0.1:1/documents.xsd"`)],
    ['places of schemas before their prefix', onRoot(`xsi:schemaLocation="urn:x file:///etc/passwd" ${XSI}`)],
    ['a comment before and behind', `<!-- a -->\n${document(item)}\n<!-- b -->`],
    ['Windows line ends', document(`\r\n${item}\r\n`)],
    ['a character reference', document(`<sgtin>&#48;${SGTIN.slice(1)}</sgtin>`)],
  ])('%s does not matter', (_, text) => {
    expect(checkDocument(Buffer.from(text)).items).toEqual([{ kind: 'sgtin', id: SGTIN }]);
  });

  it('more bytes than are ever read are refused before anything is parsed', () => {
    expect(refusalOf(() => readDocument(Buffer.alloc(MAX_DOCUMENT_BYTES + 1, 32))).code).toBe('body_too_large');
  });
});
