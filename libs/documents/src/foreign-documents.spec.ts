import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { titleOfType } from './catalogue/catalogue.js';
import { foreignEffectsOf } from './effects-of.js';
import type { ReceiptFacts } from './port.js';
import { readForeignDocument } from './read-document.js';

const PACK = '04601234567893PEDIGREE00001';
const PART = '04601234567893PEDIGREE00002';
const wrapped = (docType: number, element: string, body: string): Buffer =>
  Buffer.from(`<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`);
const till = wrapped(
  10511,
  'retail_sell_kkt',
  `<subject_id>00000000100103</subject_id><inn>7701234501</inn><sell_details>
    <receipt><type>3</type><operation_date>2026-11-20T10:15:00+03:00</operation_date>
      <items><item><sgtin>${PACK}</sgtin><cost>10.00</cost></item></items></receipt>
    <receipt><type>3</type><operation_date>2026-11-20T10:16:00+03:00</operation_date>
      <items><item><sgtin>${PART}</sgtin><sold_part>1/2</sold_part></item></items></receipt>
  </sell_details>`,
);
const accepted: ReceiptFacts = {
  operation: '10511',
  operationId: 'x',
  result: 'accepted',
  acceptedAt: '2026-11-20T07:20:00Z',
  warnings: [],
  errors: [],
};

describe('a document that is not ours', () => {
  it('of a till is read with the moment of its first receipt, ', () => {
    expect(readForeignDocument(till)).toMatchObject({
      docType: 10511,
      subjectId: '00000000100103',
      operationDate: '2026-11-20T10:15:00+03:00',
    });
    expect(titleOfType(10511)).toBe('Retail sale (till)');
  });

  it('sells the packs that it names, whole or in part', () => {
    const effects = foreignEffectsOf(readForeignDocument(till), accepted);
    expect(effects.map(({ item, result, status }) => [item.id, result, status])).toEqual([
      [PACK, 'applied', 'in_sale'],
      [PART, 'applied', 'in_partial_sale'],
    ]);
  });

  it('of a type that nobody here knows is read too, and its packs are uncertain', () => {
    const unheard = readForeignDocument(
      wrapped(
        699,
        'unheard_of',
        `<subject_id>1</subject_id><note>a</note><note>b</note><list><sgtin>${PACK}</sgtin></list>`,
      ),
    );
    expect(unheard).toMatchObject({ docType: 699, element: 'unheard_of', operationDate: '', fields: { note: 'a' } });
    expect(foreignEffectsOf(unheard, undefined)).toMatchObject([
      { item: unheard.items[0], result: 'undetermined', errorText: expect.stringContaining('not publicly known') },
    ]);
    expect(titleOfType(699)).toBe('Document 699');
  });

  it('tells the document that its envelope refers to', () => {
    const body =
      '<subject_id>1</subject_id><counterparty_id>2</counterparty_id>' +
      `<operation_date>2026-11-20T10:15:00+03:00</operation_date><order_details><sgtin>${PACK}</sgtin>` +
      '</order_details>';
    const notice = wrapped(607, 'accept_notification', body).toString();
    expect(readForeignDocument(Buffer.from(notice.replace('"1.38"', '"1.38" original_id="d-1"'))).originalId).toBe(
      'd-1',
    );
    expect(readForeignDocument(Buffer.from(notice))).not.toHaveProperty('originalId');
  });

  it('is refused where an identifier is none, or where it is not a document at all', () => {
    expect(() => readForeignDocument(wrapped(634, 'unheard_of', '<list><sgtin>short</sgtin></list>'))).toThrow(
      'is not an SGTIN',
    );
    expect(() => readForeignDocument(Buffer.from('<html></html>'))).toThrow('the root element is <html>');
    expect(() => readForeignDocument(wrapped(634, 'x', '').fill(' ', 19, 30))).toThrow();
  });
});

describe('a notification', () => {
  const fixture = (name: string) => readForeignDocument(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)));

  it('does what the document of the other side did', () => {
    const effects = foreignEffectsOf(fixture('607-accept_notification.xml'), undefined);
    expect(new Set(effects.map(({ result, status }) => `${result} ${status}`))).toEqual(
      new Set(['applied in_circulation']),
    );
  });

  it('of errors in a receipt from a supplier refuses the packs that it names, each for its own reason', () => {
    expect(foreignEffectsOf(fixture('617-receive_order_errors_notification.xml'), undefined)).toMatchObject([
      { result: 'refused', errorCode: '4', errorText: 'not the owner' },
    ]);
  });
});
