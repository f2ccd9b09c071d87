import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFacts, type DocumentTypeFact } from '../../test/facts.js';
import { instancesOf, xmlOf } from '../../test/instances.js';
import { foreignEffectsOf } from '../effects-of.js';
import type { ItemEffect, ReceiptFacts } from '../port.js';
import { readForeignDocument, type ForeignFacts } from '../read-document.js';
import { CATALOGUE } from './catalogue.js';
import { statusAfter } from './effect.js';

const SEED = 20261122;
const UNKNOWN = 'not known';
const NOTHING = 'no item';
/**
 * What public-facts 2.5, 3.2 and 5 say of each type: status, `@` the place where the item then is (`s` the subject's,
 * `c` the other side's, `-` none of ours), `out` of its container, packed `in` one, or `opened`.
 */
const SAID: Record<number, string> = {
  ...{ 210: '', 212: NOTHING, 213: '', 220: '', 250: NOTHING },
  ...{ 251: 'in_circulation @s', 252: 'in_circulation @c', 253: '', 254: '', 300: UNKNOWN, 313: 'in_circulation @s' },
  ...{ 314: UNKNOWN, 315: UNKNOWN, 331: UNKNOWN, 332: UNKNOWN, 333: UNKNOWN, 334: UNKNOWN, 335: UNKNOWN },
  ...{ 336: UNKNOWN, 337: UNKNOWN, 341: UNKNOWN, 342: 'in_circulation @s', 351: UNKNOWN, 360: UNKNOWN },
  ...{ 361: UNKNOWN, 362: UNKNOWN, 363: 'in_circulation @s', 381: UNKNOWN, 391: 'in_circulation @s' },
  ...{ 415: 'in_realization @c out', 416: 'waiting_confirmation @s out', 417: 'confirm_return_paused @c out' },
  ...{ 431: '@c out', 432: '@c out', 441: 'moved_to_unregistered @- out', 442: UNKNOWN },
  ...{ 461: 'moved_to_eeu @- out', 470: '@c out', 471: UNKNOWN, 472: 'transferred_to_agent @c out', 473: UNKNOWN },
  ...{ 481: 'in_arbitration', 511: 'in_sale out', 512: 'dispensing_by_document out' },
  ...{ 521: 'in_discount_prescription_sale out', 531: 'in_medical_use out', 541: 'moved_for_disposal out' },
  ...{ 542: 'disposed out', 552: 'out_of_circulation out' },
  ...{ 601: 'in_realization @c out', 602: 'waiting_confirmation @s out', 603: UNKNOWN, 605: 'in_circulation @s' },
  ...{ 606: 'in_circulation @c', 607: 'in_circulation @s out', 609: UNKNOWN, 610: 'confirm_return_paused @c out' },
  ...{ 611: UNKNOWN, 612: UNKNOWN, 613: UNKNOWN, 614: UNKNOWN, 615: UNKNOWN, 616: UNKNOWN, 617: NOTHING },
  ...{ 618: UNKNOWN, 619: 'transferred_to_agent @c out', 620: UNKNOWN, 621: 'in_arbitration', 622: UNKNOWN, 623: '' },
  ...{ 624: UNKNOWN, 625: UNKNOWN, 627: 'in_circulation @s out', 629: '@c out', 630: '@c out' },
  ...{ 631: '@c out', 632: 'out_of_circulation out', 633: NOTHING, 634: NOTHING },
  ...{ 701: 'in_circulation @s out', 702: 'in_circulation @s out', 705: '@- out', 812: '@c out' },
  ...{ 911: 'in', 912: 'opened', 913: 'out', 914: 'in', 915: 'in', 916: 'in' },
  ...{ 10300: UNKNOWN, 10305: UNKNOWN, 10311: 'marked @s', 10319: 'marked @s', 10501: '', 10502: '' },
  ...{ 10511: 'in_sale out', 10521: 'in_discount_prescription_sale out', 10522: 'in_discount_prescription_sale out' },
  ...{ 10523: UNKNOWN, 10531: 'in_medical_use out', 10532: UNKNOWN, 20521: UNKNOWN },
};
const RECEIPT: ReceiptFacts = {
  ...{ operation: '', operationId: '', acceptedAt: '', warnings: [], errors: [] },
  result: 'accepted',
};

function said({ result, status, place, containment }: ItemEffect, facts: ForeignFacts): string {
  if (result === 'undetermined') return UNKNOWN;
  const where = place === undefined ? [] : [place === '' ? '@-' : place === facts.subjectId ? '@s' : '@c'];
  const words = { taken_out: 'out', packed: 'in', opened: 'opened' };
  return [...(status === undefined ? [] : [status]), ...where, ...(containment ? [words[containment.kind]] : [])].join(
    ' ',
  );
}

/** A document of the type whose items are whole packs, and that puts under arbitration. */
function documentOf(type: DocumentTypeFact): ForeignFacts {
  const isPlain = (text: string): boolean => !/_part|<sign_arbitration>2|<series_details>/.test(text);
  const [text = ''] = fc.sample(
    instancesOf(type)
      .map((action) => xmlOf(action))
      .filter(isPlain),
    { seed: SEED, numRuns: 1 },
  );
  return readForeignDocument(Buffer.from(text));
}

/** All but receipts and the answers to queries, which are no documents. */
const documents = CATALOGUE.filter(({ direction }) => direction !== 'answer').map(({ docType }) => docType);
const types = readFacts()
  .types.filter(({ docType }) => documents.includes(docType))
  .map((type) => [type.docType, type] as const);

describe('what a document does to its packs', () => {
  it.each(types)('%d', (docType, type) => {
    const facts = documentOf(type);
    const effects = foreignEffectsOf(facts, docType === 617 ? undefined : RECEIPT);
    const applied = effects.filter(({ result }) => result !== 'refused').map((effect) => said(effect, facts));
    expect([...new Set(applied)].join('; ') || (effects.length > 0 && docType !== 617 ? '' : NOTHING)).toBe(
      SAID[docType],
    );
  });

  it('is said of every type of the catalogue', () => {
    expect(Object.keys(SAID).map(Number)).toEqual(documents.toSorted((a, b) => a - b));
  });

  it('follows its own fields: arbitration that is lifted, and parts of packs', () => {
    const statusOf = (sign: string): unknown => {
      const document = readForeignDocument(
        Buffer.from(
          `<documents version="1.38"><arbitration action_id="481"><sign_arbitration>${sign}</sign_arbitration>` +
            '<order_details><sgtin>04601234567893PEDIGREE00001</sgtin></order_details></arbitration></documents>',
        ),
      );
      return foreignEffectsOf(document, RECEIPT)[0]?.status;
    };
    expect(statusOf('1')).toBe('in_arbitration');
    // A whole number of the schema may have blanks around it, and zeros or a sign before it.
    for (const lifted of ['2', '\n  2\n', '02', '+2']) expect(statusOf(lifted)).toBe('in_circulation');
  });

  it('points at what it corrects', () => {
    const till = readForeignDocument(
      Buffer.from(
        '<documents version="1.38"><retail_sell_kkt_corrected action_id="10501"><sell_details><receipt><items><item>' +
          '<sgtin>04601234567893PEDIGREE00001</sgtin></item></items><receipt_id>r-2</receipt_id>' +
          '<origin_receipt_id>r-1</origin_receipt_id></receipt></sell_details></retail_sell_kkt_corrected></documents>',
      ),
    );
    const [effect] = foreignEffectsOf(till, RECEIPT);
    expect(effect).toMatchObject({ result: 'applied', corrects: 'r-1' });
    expect(effect).not.toHaveProperty('status');
  });

  it('leaves a suspended pack suspended where it only moves it', () => {
    expect(statusAfter('paused_circulation', 'in_circulation')).toBe('paused_circulation');
    expect(statusAfter('confirm_return_paused', 'in_circulation')).toBe('paused_circulation');
    expect(statusAfter('paused_circulation', 'in_realization')).toBe('paused_circulation');
    expect(statusAfter('paused_circulation', 'confirm_return_paused')).toBe('confirm_return_paused');
    expect(statusAfter('paused_circulation', 'disposed')).toBe('disposed');
    expect(statusAfter('in_circulation', 'in_realization')).toBe('in_realization');
    expect(statusAfter(undefined, 'in_circulation')).toBe('in_circulation');
  });
});
