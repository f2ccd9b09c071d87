import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readReceipt } from './read-receipt.js';

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/receipt-${name}.xml`, import.meta.url), 'utf8');
const read = (text: string) => readReceipt(Buffer.from(text));
const said = {
  operation: '415',
  operationId: '0d9e1f22-3344-5566-8777-8899aabbccdd',
  acceptedAt: '2026-11-20T07:15:07.123Z',
};

it('given an accepted document, comment and every warning are read', () => {
  expect(read(fixture('accepted'))).toEqual({
    ...said,
    result: 'accepted',
    comment: 'Operation completed',
    warnings: ['check digit', 'price differs'],
    errors: [],
  });
});

it('given an operation_id in capitals, it is told in small letters, as ours are; one that is no UUID stays', () => {
  const asked = (operationId: string) =>
    read(fixture('accepted').replace(/(<operation_id>)[^<]*/, `$1${operationId}`)).operationId;
  expect([asked(said.operationId.toUpperCase()), asked('X7')]).toEqual([said.operationId, 'X7']);
});

it('given a partial one, every error is read with its object', () => {
  expect(read(fixture('partial'))).toEqual({
    ...said,
    result: 'partial',
    warnings: [],
    errors: [
      { code: '12', text: 'The item is not yours', objectId: '04601234567893PEDIGREE00002' },
      { code: '13', text: 'Unknown item', objectId: '046012345600000001' },
    ],
  });
});

it('given a rejected one, an error without an object has none', () => {
  expect(read(fixture('rejected'))).toEqual({
    ...said,
    result: 'rejected',
    comment: 'Nothing was taken',
    warnings: [],
    errors: [{ code: '1', text: 'The sender is not registered at this place' }],
  });
});

it('given elements that nobody announced, the rest is read', () => {
  const text = fixture('partial').replace('<operation>', '<region><code>77</code></region><errors/><operation>');
  expect(read(text)).toEqual(read(fixture('partial')));
});

it('given declarations that nothing uses, as live receipts have them, it is read', () => {
  const plain = fixture('accepted');
  const declared = plain.replace(
    '<documents',
    '<documents xmlns:ns2="urn:registry:wsdl" ' +
      'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:x documents.xsd"',
  );
  expect(read(declared)).toEqual(read(plain));
  expect(read(`\uFEFF<!-- a -->\r\n${declared.replaceAll('><', '>\r\n<')}`)).toEqual(read(plain));
});

it('given a time without a zone, it is read in the zone asked for', () => {
  const text = fixture('accepted').replace('.123+03:00', '');
  expect(read(text).acceptedAt).toBe('2026-11-20T07:15:07Z');
  expect(readReceipt(Buffer.from(text), { zone: 'Z' }).acceptedAt).toBe('2026-11-20T10:15:07Z');
});

it('given ten thousand errors, all are read', () => {
  const one =
    '<errors><error_code>5</error_code><error_desc>no</error_desc>' +
    '<object_id>04601234567893PEDIGREE00001</object_id></errors>';
  expect(read(fixture('rejected').replace('</result>', `${one.repeat(10_000)}</result>`)).errors).toHaveLength(10_001);
});

it.each([
  ['<error_code>1</error_code><error_desc>a</error_desc>', ['1 a P1', '1 a P2']],
  ['<error_desc>a</error_desc><error_code>1</error_code>', ['1 a P1', '1 a P2']],
])('given an error about two packs, both are told with it', (said, errors) => {
  const objects = [1, 2].map((i) => `<object_id>P${i}</object_id>`).join('');
  const text = fixture('rejected').replace(/<errors>.*<\/errors>/s, `<errors>${said}${objects}</errors>`);
  expect(read(text).errors.map((one) => `${one.code} ${one.text} ${one.objectId}`)).toEqual(errors);
});

it('given two errors as one, both are told', () => {
  const one = (i: number): string =>
    `<error_code>${i}</error_code><error_desc>e${i}</error_desc><object_id>P${i}</object_id>`;
  const text = fixture('rejected').replace(/<errors>.*<\/errors>/s, `<errors>${one(1)}${one(2)}</errors>`);
  expect(read(text).errors).toEqual([1, 2].map((i) => ({ code: `${i}`, text: `e${i}`, objectId: `P${i}` })));
});

describe('given a comment', () => {
  const commentOf = (comment: string) =>
    read(fixture('rejected').replace(/<operation_comment>[^<]*/, `<operation_comment>${comment}`)).comment;

  it('of the longest text that is passed on, it is told as it is', () => {
    expect(commentOf('x'.repeat(65_536))).toBe('x'.repeat(65_536));
  });

  it('about each of many packs, its beginning is told, and how long it is', () => {
    const comment = Array.from({ length: 25_000 }, (_, i) => `04601234567893${String(i).padStart(13, '0')}`).join(', ');
    const end = ` ... (${comment.length} characters; the receipt has all)`;
    expect(commentOf(comment)).toBe(`${comment.slice(0, 4_000)}${end}`);
  });

  it('no letter of two halves is cut', () => {
    expect(commentOf(`${'x'.repeat(3_999)}😀${'x'.repeat(65_536)}`)).toMatch(/^x{3999} \.\.\. \(/);
  });
});

describe('given something missing or wrong, the error names it', () => {
  it.each([
    [
      'no result',
      /<operation_result>.*<\/operation_result>/,
      '',
      'schema_violation',
      '/documents/result/operation_result',
    ],
    ['another result', '>Rejected<', '>Unknown<', 'schema_violation', '/documents/result/operation_result'],
    [
      'a result of every object',
      '>Rejected<',
      '>constructor<',
      'schema_violation',
      '/documents/result/operation_result',
    ],
    ['no operation_id', /<operation_id>.*<\/operation_id>/, '', 'schema_violation', '/documents/result/operation_id'],
    ['no operation', /<operation>.*<\/operation>/, '', 'schema_violation', '/documents/result/operation'],
    [
      'two results',
      '<operation_comment>',
      '<operation_result>Accepted</operation_result><operation_comment>',
      'schema_violation',
      'operation_result',
    ],
    [
      'an error without a code',
      /<error_code>.*<\/error_code>/,
      '',
      'schema_violation',
      '/documents/result/errors/error_code',
    ],
    ['no accept_time', / accept_time="[^"]*"/, '', 'schema_violation', '/documents/result/@accept_time'],
    ['an accept_time that is none', 'T10:15:07', ' 10:15:07', 'schema_violation', '/documents/result/@accept_time'],
    ['an accept_time of no month', '2026-11-20', '2026-13-20', 'schema_violation', '/documents/result/@accept_time'],
    ['an accept_time of no day', '2026-11-20', '2026-02-30', 'schema_violation', '/documents/result/@accept_time'],
    ['an accept_time of no zone', '+03:00"', '+16:00"', 'schema_violation', '/documents/result/@accept_time'],
    ['an accept_time of another age', '2026-11-20', '0001-01-01', 'schema_violation', '/documents/result/@accept_time'],
    ['an answer to a query', 'action_id="200"', 'action_id="211"', 'unknown_document_type', 'result'],
    ['a DOCTYPE', '<documents', '<!DOCTYPE x><documents', 'forbidden_xml', undefined],
  ] as [string, string | RegExp, string, string, string | undefined][])('%s', (_, from, to, code, element) => {
    const text = fixture('rejected').replace(from, to);
    expect(text).not.toBe(fixture('rejected'));
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        name: 'PedigreeError',
        code,
        place: expect.objectContaining(element === undefined ? { line: 1 } : { element }),
      }),
    );
  });
});

it('given the answer to a query, the query is told, and that the registry answered', () => {
  const answer = (docType: number, element: string, body: string): string =>
    `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;
  expect(read(answer(211, 'kiz_info', '<result><found>true</found><sgtin>x</sgtin></result>'))).toEqual({
    ...{ operation: '210', answers: 210, result: 'accepted', warnings: [], errors: [] },
  });
  expect(
    read(
      answer(
        221,
        'hierarchy_info',
        '<operation_warnings><operation_warning>old</operation_warning></operation_warnings>',
      ),
    ),
  ).toEqual({ ...{ operation: '220', answers: 220, result: 'accepted', warnings: ['old'], errors: [] } });
  expect(() => read(answer(211, 'hierarchy_info', ''))).toThrow('is neither a receipt');
});

it('given the result of an edit (201), it is read as a receipt', () => {
  const edit = fixture('accepted').replaceAll('result action_id="200"', 'result_service action_id="201"');
  expect(read(edit.replace('</result>', '</result_service>'))).toEqual(read(fixture('accepted')));
});
