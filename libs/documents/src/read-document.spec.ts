import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { PedigreeError, type ErrorPlace } from '#kernel';
import { documentTypeOf } from './catalogue/catalogue.js';
import { readDocument } from './read-document.js';

const fixtures = new URL('../fixtures/', import.meta.url);
const fixtureOf = (docType: number): string =>
  readFileSync(
    new URL(readdirSync(fixtures).find((name) => name.startsWith(`${docType}-`)) as string, fixtures),
    'utf8',
  );
const fixtureTypes = readdirSync(fixtures).flatMap((name) => documentTypeOf(Number.parseInt(name, 10)) ?? []);
const read = (text: string) => readDocument(Buffer.from(text));
const pack = (i: number): string => `04601234567893PEDIGREE${String(i).padStart(5, '0')}`;
const box = (i: number): string => `04601234560000${String(i).padStart(4, '0')}`;

function refused(text: string, code: string, place: ErrorPlace): void {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(PedigreeError);
    expect(error).toMatchObject({ code, place });
    if (place.line !== undefined) expect((error as Error).message).toContain(`line ${place.line}`);
    return;
  }
  throw new Error('nothing was refused');
}

const accept = (content: string): string =>
  `<documents version="1.38"><accept action_id="701"><subject_id>00000000100930</subject_id>` +
  `<counterparty_id>00000000100931</counterparty_id>
<operation_date>2026-11-20T10:15:00+03:00</operation_date><order_details>
${content}</order_details></accept></documents>`;

describe('given a shipment', () => {
  const facts = read(fixtureOf(415));

  it('its facts are those written', () => {
    expect(facts).toMatchObject({
      docType: 415,
      element: 'move_order',
      schemaVersion: '1.38',
      subjectId: '00000000100930',
      counterpartyId: '00000000100931',
      operationDate: '2026-11-20T10:15:00+03:00',
      docNum: 'SHIP\\42 & co',
      docDate: '20.11.2026',
    });
  });

  it('its items carry their rows, the container that of its own row and not the prices within', () => {
    expect(facts.items).toEqual([
      { kind: 'sgtin', id: pack(1), detail: { cost: '120.50', vat_value: '10.95' } },
      {
        kind: 'sscc',
        id: box(1),
        detail: { cost: '12050.00', vat_value: '1095.00' },
        lots: [{ gtin: '04601234567893', series: 'A 17' }],
      },
    ]);
  });

  it('its fields are the scalar children of the action, without items', () => {
    expect(facts.fields).toEqual({
      subject_id: '00000000100930',
      receiver_id: '00000000100931',
      operation_date: '2026-11-20T10:15:00+03:00',
      doc_num: 'SHIP\\42 & co',
      doc_date: '20.11.2026',
      turnover_type: '1',
      source: '1',
      contract_type: '1',
      contract_num: 'K-7',
    });
  });
});

describe('given the other types', () => {
  it('a correction of details describes every pack that it lists', () => {
    const xml = `<documents version="1.38"><change_information action_id="253"><subject_id>00000000100930</subject_id>
      <operation_date>2026-11-20T10:15:00+03:00</operation_date>
      <details><expiration_date>31.12.2029</expiration_date><series_number>B 18</series_number></details>
      <signs><sgtin>${pack(1)}</sgtin><sgtin>${pack(2)}</sgtin></signs></change_information></documents>`;
    const detail = { expiration_date: '31.12.2029', series_number: 'B 18' };
    expect(readDocument(Buffer.from(xml)).items).toEqual([1, 2].map((n) => ({ kind: 'sgtin', id: pack(n), detail })));
  });

  it('packing puts every item into the container, which is a field and no item', () => {
    for (const docType of [911, 914]) {
      const facts = read(fixtureOf(docType));
      expect(facts.fields.sscc).toBe(box(9));
      expect(facts.items).toEqual([
        { kind: 'sgtin', id: pack(1), into: box(9) },
        { kind: 'sscc', id: box(1), into: box(9) },
        { kind: 'sgtin', id: pack(2), into: box(9) },
      ]);
    }
  });

  it('unpacking lists containers as items', () => {
    const facts = read(fixtureOf(912));
    expect(facts.items).toEqual([
      { kind: 'sscc', id: box(1) },
      { kind: 'sscc', id: box(2) },
    ]);
    expect(facts.fields).not.toHaveProperty('sscc');
  });

  it('each sold pack carries its own price, and not the sale’s papers', () => {
    expect(read(fixtureOf(511)).items).toEqual([
      { kind: 'sgtin', id: pack(1), detail: { cost: '199.00', vat_value: '18.09' } },
      { kind: 'sgtin', id: pack(2), detail: { cost: '99.50', vat_value: '9.05', sold_part: '1/2', discount: '10.00' } },
    ]);
  });

  it('an attribute of an item is part of its detail', () => {
    expect(read(fixtureOf(552)).items[1]).toEqual({ kind: 'sgtin', id: pack(2), detail: { withdrawal_part: '1/3' } });
  });

  it('errors of a notification name items where they can', () => {
    expect(read(fixtureOf(617)).items).toEqual([
      { kind: 'sgtin', id: pack(1), detail: { error_code: '4', error_desc: 'not the owner' } },
    ]);
  });

  it('a query has no operation date', () => {
    expect(read(fixtureOf(210))).toMatchObject({ operationDate: '', items: [{ kind: 'sscc', id: box(1) }] });
  });

  it.each(fixtureTypes.map((type) => [type.docType, type.element] as const))(
    '%d is known by number and element',
    (docType, element) => {
      expect(read(fixtureOf(docType))).toMatchObject({ docType, element });
      refused(fixtureOf(docType).replaceAll(element, 'unheard_of'), 'unknown_document_type', {
        line: 2,
        element: 'unheard_of',
      });
    },
  );
});

describe('given something wrong', () => {
  it.each([
    [
      'an unknown type',
      '<documents version="1.38">\n<x action_id="999"/></documents>',
      'unknown_document_type',
      { line: 2, element: 'x' },
    ],
    [
      'no action_id',
      '<documents version="1.38">\n<accept/></documents>',
      'unknown_document_type',
      { line: 2, element: 'accept' },
    ],
    [
      'an action_id that is not a number',
      '<documents version="1.38"><accept action_id="0x2bd"/></documents>',
      'unknown_document_type',
      { line: 1 },
    ],
    [
      'a receipt',
      '<documents version="1.38"><result action_id="200"/></documents>',
      'unknown_document_type',
      { line: 1, element: 'result' },
    ],
    [
      'an SGTIN that is too short',
      accept('<sgtin>0460123456789</sgtin>'),
      'invalid_identifier',
      { line: 3, item: '0460123456789' },
    ],
    [
      'an SGTIN with blanks',
      accept(`\n<sgtin> ${pack(1)} </sgtin>`),
      'invalid_identifier',
      { line: 4, item: ` ${pack(1)} ` },
    ],
    [
      'an SSCC with a letter',
      accept('<sscc>04601234560000000A</sscc>'),
      'invalid_identifier',
      { line: 3, item: '04601234560000000A' },
    ],
    ['an empty SGTIN', accept('<sgtin/>'), 'invalid_identifier', { line: 3, item: '' }],
    ['an SGTIN that holds elements', accept('<sgtin><x/></sgtin>'), 'schema_violation', { element: 'sgtin' }],
    [
      'a field twice',
      accept('').replace('<order_details>', '<operation_date>x</operation_date><order_details>'),
      'schema_violation',
      { element: 'operation_date' },
    ],
    [
      'no place',
      '<documents version="1.38"><accept action_id="701"></accept></documents>',
      'schema_violation',
      { element: '/documents/accept/operation_date' },
    ],
    [
      'no version',
      '<documents><accept action_id="701"/></documents>',
      'schema_violation',
      { line: 1, element: 'documents/@version' },
    ],
    [
      'another root',
      '<document version="1.38"><accept action_id="701"/></document>',
      'schema_violation',
      { line: 1, element: 'document' },
    ],
    ['nothing within', '<documents version="1.38"/>', 'schema_violation', { element: 'documents' }],
    [
      'two containers',
      fixtureOf(911).replace('<operation_date>', `<sscc>${box(8)}</sscc><operation_date>`),
      'schema_violation',
      { line: 5, item: box(8) },
    ],
    [
      'no container',
      fixtureOf(911).replace(/<sscc>.*<\/sscc>/, ''),
      'schema_violation',
      { element: '/documents/unit_pack/sscc' },
    ],
  ] as [string, string, string, ErrorPlace][])('%s is refused and its place named', (_, text, code, place) =>
    refused(text, code, place),
  );

  it('one item more than the type allows is refused, and no more are read', () => {
    const boxes = (count: number): string =>
      fixtureOf(912).replace(
        /<sscc>[\s\S]*<\/sscc>/,
        Array.from({ length: count }, (_, i) => `<sscc>${box(i)}</sscc>`).join('\n'),
      );
    expect(read(boxes(1_500)).items).toHaveLength(1_500);
    refused(boxes(1_501), 'too_many_items', { line: 1_505, item: box(1_500) });
  });
});
