import { describe, expect, it } from '@jest/globals';
import { PedigreeError, type JsonObject } from '#kernel';
import { buildDocument } from './build-document.js';
import { checkDocument } from './check-document.js';
import type { DocumentJson } from './port.js';

const SGTIN = '04601234567893PEDIGREE00001';
const accept: DocumentJson = {
  action_id: 701,
  subject_id: '00000000100930',
  counterparty_id: '00000000100931',
  operation_date: '2026-11-20T10:15:00+03:00',
  order_details: { sgtin: [SGTIN] },
};
const build = (changes: JsonObject): string => buildDocument({ ...accept, ...changes }).toString('utf8');

it('given a document as JSON, the XML is in schema order, without a declaration, with version and action_id', () => {
  const { order_details, ...rest } = accept;
  expect(buildDocument({ order_details, ...rest } as DocumentJson).toString('utf8')).toBe(
    '<documents version="1.38"><accept action_id="701"><subject_id>00000000100930</subject_id>' +
      '<counterparty_id>00000000100931</counterparty_id>' +
      `<operation_date>2026-11-20T10:15:00+03:00</operation_date><order_details><sgtin>${SGTIN}</sgtin>` +
      '</order_details></accept></documents>',
  );
});

it('given envelope fields, booleans and one item without a list, all are written', () => {
  const xml = build({ session_ui: 'a "b" & c', confirm_paused: true, order_details: { sgtin: SGTIN } });
  expect(xml).toContain('<documents version="1.38" session_ui="a &quot;b&quot; &amp; c">');
  expect(xml).toContain('<confirm_paused>true</confirm_paused><order_details>');
  expect(checkDocument(Buffer.from(xml)).items).toHaveLength(1);
});

it('given an item with an attribute, value and attribute are written', () => {
  const xml = buildDocument({
    action_id: 552,
    order_details: { sgtin: [{ value: SGTIN, withdrawal_part: '1/3' }] },
  }).toString('utf8');
  expect(xml).toContain(`<sgtin withdrawal_part="1/3">${SGTIN}</sgtin>`);
});

it('given tabs and line ends in a text, a reader gets them back', () => {
  const xml = build({
    action_id: 252,
    counterparty_id: undefined as never,
    shipper_id: '00000000100931',
    reason: 'a\r\nb\tc',
  });
  expect(checkDocument(Buffer.from(xml)).fields.reason).toBe('a\r\nb\tc');
});

describe('given something that does not belong', () => {
  it.each([
    ['an unknown field', { colour: 'red' }, '/colour'],
    ['an unknown field of a list', { order_details: { sgtin: [SGTIN], ean: ['x'] } }, '/order_details/ean'],
    ['a name that needs escaping in a pointer', { 'a/b~c': 1 }, '/a~1b~0c'],
    ['a member of every object', { constructor: 'x' }, '/constructor'],
    ['a list for a single field', { subject_id: ['1', '2'] }, '/subject_id'],
    ['a text for a list of items', { order_details: SGTIN }, '/order_details'],
    ['an object for a text', { subject_id: { value: 'x' } }, '/subject_id'],
    ['a list within a list', { order_details: { sgtin: [[SGTIN]] } }, '/order_details/sgtin/0'],
    ['null', { order_details: { sgtin: [SGTIN, null] } }, '/order_details/sgtin/1'],
    ['a fraction', { subject_id: 1.5 }, '/subject_id'],
    ['a number too large to be exact', { subject_id: 2 ** 60 }, '/subject_id'],
    ['a control character', { subject_id: 'a\u0000b' }, '/subject_id'],
    ['half a surrogate pair', { subject_id: 'a\ud800' }, '/subject_id'],
    ['a control character in the envelope', { session_ui: '\u0001' }, '/session_ui'],
  ] as [string, JsonObject, string][])('%s is refused by its pointer', (_, changes, field) => {
    expect(() => build(changes)).toThrow(
      expect.objectContaining({ name: 'PedigreeError', code: 'invalid_command', place: { field } }),
    );
  });

  it.each([[999], ['701'], [null], [200], [undefined]])('action_id %p is refused', (action_id) => {
    expect(() => buildDocument({ ...accept, action_id } as unknown as DocumentJson)).toThrow(
      expect.objectContaining({ code: 'unknown_document_type', place: { field: '/action_id' } }),
    );
  });

  it('an attribute that an item does not have, and an item without its value, are refused', () => {
    const withdraw = (sgtin: JsonObject) => () => buildDocument({ action_id: 552, order_details: { sgtin: [sgtin] } });
    expect(withdraw({ value: SGTIN, part: '1/3' })).toThrow(PedigreeError);
    expect(withdraw({ withdrawal_part: '1/3' })).toThrow(/\/order_details\/sgtin\/0\/value/);
  });
});
