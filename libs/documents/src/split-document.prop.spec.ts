import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PedigreeError, type JsonObject } from '#kernel';
import { sized } from '../../../test/support/sized.js';
import { buildDocument } from './build-document.js';
import { checkDocument } from './check-document.js';
import type { DocumentFacts, DocumentJson } from './port.js';
import { readDocument } from './read-document.js';
import { splitDocument } from './split-document.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const sgtinOf = (n: number): string => `04607000000001S${String(n).padStart(12, '0')}`;
const ssccOf = (n: number): string => String(n).padStart(18, '4');
const own = { subject_id: '00000000100101', operation_date: '2026-11-20T10:15:00+03:00' };
/** What XML must escape, and what it must not lose. */
const papers = { doc_num: '№ 1 <"&\'> \\', doc_date: '20.11.2026' };
const packs = (n: number): string[] => Array.from({ length: n }, (_, i) => sgtinOf(i));
const money = { cost: '10.00', vat_value: '1.00' };

/** Documents of n items of every shape of row. */
const SHAPES: Record<string, (n: number) => JsonObject> = {
  'a free mix of packs and containers': (n) => ({
    action_id: 431,
    receiver_id: '00000000100102',
    ...own,
    ...papers,
    order_details: { sgtin: packs(n - 1), sscc: [ssccOf(n)] },
  }),
  'rows with a price': (n) => ({
    action_id: 415,
    receiver_id: '00000000100102',
    ...own,
    ...papers,
    turnover_type: 1,
    source: 1,
    contract_type: 1,
    order_details: {
      union: packs(n).map((sgtin, i) =>
        i % 3 === 0 ? { sscc_detail: { sscc: ssccOf(i) }, ...money } : { sgtin, ...money },
      ),
    },
  }),
  'rows of several items': (n) => ({
    action_id: 511,
    ...own,
    sales: {
      union: packs(Math.ceil(n / 3)).map((_, i) => ({
        detail: packs(n)
          .slice(i * 3, i * 3 + 3)
          .map((sgtin) => ({ sgtin, ...money })),
        sale_docs: { doc_type: '1', doc_number: `<${i}>`, doc_date: '20.11.2026' },
      })),
    },
  }),
  'rows without a list around them': (n) => ({
    action_id: 912,
    ...own,
    sscc: packs(n).map((_, i) => ssccOf(i)),
    is_recursive: true,
  }),
  'packs into a container': (n) => ({ action_id: 914, ...own, sscc: ssccOf(999_999), content: { sgtin: packs(n) } }),
};

/** Packs into containers, a row for each container. */
const packing = (...rows: string[][]): DocumentJson => ({
  action_id: 915,
  ...own,
  by_sgtin: { detail: rows.map((sgtin, i) => ({ sscc: ssccOf(i), content: { sgtin } })) },
});

const headerOf = ({ items: _, ...header }: DocumentFacts): object => header;

describe.each(Object.keys(SHAPES))(`splitting %s (seed ${SEED}; repeat with PROPERTY_SEED)`, (name) => {
  it('keeps every item, its row and the header, none twice, each part valid and under the limit', () => {
    let splits = 0;
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 60 }), fc.integer({ min: 3, max: 20 }), (n, maxItems) => {
        const whole = buildDocument((SHAPES[name] as (n: number) => DocumentJson)(n));
        const facts = readDocument(whole);
        const parts = splitDocument(whole, { maxItemsOf: () => maxItems });
        const read = parts.map((part) => checkDocument(part));
        expect(read.flatMap((part) => part.items)).toEqual(facts.items);
        for (const part of read) {
          expect(headerOf(part)).toEqual(headerOf(facts));
          expect(part.items.length).toBeLessThanOrEqual(maxItems);
          expect(part.items.length).toBeGreaterThan(0);
        }
        if (n <= maxItems) expect(parts).toEqual([whole]);
        else splits += 1;
      }),
      { seed: SEED, numRuns: sized({ test: 20, soak: 60 }) },
    );
    expect(splits).toBeGreaterThan(5);
  });
});

describe('splitting', () => {
  it('keeps the envelope', () => {
    const whole = buildDocument({
      ...(SHAPES['packs into a container'] as (n: number) => DocumentJson)(5),
      session_ui: 's"1',
    });
    for (const part of splitDocument(whole, { maxItemsOf: () => 2 }))
      expect(part.toString()).toContain('<documents version="1.38" session_ui="s&quot;1">');
  });

  it('writes no namespace into a part, though the whole declared one', () => {
    const whole = buildDocument((SHAPES['packs into a container'] as (n: number) => DocumentJson)(5)).toString();
    const declared = Buffer.from(whole.replace('<documents', '<documents xmlns:ns2="urn:x"'));
    const parts = splitDocument(declared, { maxItemsOf: () => 2 });
    expect(parts).toHaveLength(3);
    expect(parts).toEqual(splitDocument(Buffer.from(whole), { maxItemsOf: () => 2 }));
  });

  it('does not count the container of a row, so that a row of exactly the limit fits', () => {
    const whole = buildDocument(packing(packs(3), [sgtinOf(3)]));
    const parts = splitDocument(whole, { maxItemsOf: () => 3 }).map((part) => checkDocument(part));
    expect(parts.map(({ items }) => items.map(({ id, into }) => [id, into]))).toEqual([
      packs(3).map((id) => [id, ssccOf(0)]),
      [[sgtinOf(3), ssccOf(1)]],
    ]);
  });

  const sale = (sgtin: string) => ({
    detail: [{ sgtin, sold_part: '1/2', ...money }],
    sale_docs: { doc_type: '1', doc_number: '1', doc_date: '20.11.2026' },
  });
  const move = (order_details: JsonObject): DocumentJson => ({
    ...{ action_id: 431, receiver_id: '00000000100102', ...own, ...papers, order_details },
  });

  it.each([
    ['a pack', move({ sgtin: [...packs(4), sgtinOf(1)] }), sgtinOf(1), `the pack ${sgtinOf(1)} stands here twice`],
    [
      'a container',
      move({ sscc: [ssccOf(1), ssccOf(2), ssccOf(3), ssccOf(1)] }),
      ssccOf(1),
      `the container ${ssccOf(1)} stands here twice`,
    ],
    [
      'a container that is filled',
      {
        ...packing(),
        by_sgtin: { detail: packs(4).map((sgtin, i) => ({ sscc: ssccOf(i % 3), content: { sgtin: [sgtin] } })) },
      },
      ssccOf(0),
      `the container ${ssccOf(0)} stands here twice`,
    ],
  ])('refuses %s in two parts, as it is refused in one document', (_name, json, item, words) => {
    const whole = buildDocument(json);
    expect(() => checkDocument(whole)).toThrow(words);
    expect(() => splitDocument(whole, { maxItemsOf: () => 3 })).toThrow(
      expect.objectContaining({ code: 'schema_violation', message: `line 1: ${words}`, place: { line: 1, item } }),
    );
  });

  it('leaves what one document may name twice in two parts', () => {
    const whole = buildDocument({
      ...{ action_id: 511, ...own, sales: { union: [...packs(4), sgtinOf(1)].map(sale) } },
    });
    expect(checkDocument(whole).items).toHaveLength(5);
    expect(splitDocument(whole, { maxItemsOf: () => 3 }).map((part) => checkDocument(part).items.length)).toEqual([
      3, 2,
    ]);
  });

  it('takes a document that its type does not allow, and no part is above what it does', () => {
    const [head = '', tail = ''] = buildDocument((SHAPES['packs into a container'] as (n: number) => DocumentJson)(1))
      .toString()
      .split(`<sgtin>${sgtinOf(0)}</sgtin>`);
    const whole = Buffer.from(
      head +
        packs(25_001)
          .map((sgtin) => `<sgtin>${sgtin}</sgtin>`)
          .join('') +
        tail,
    );
    expect(() => readDocument(whole)).toThrow('more than 25000 items');
    expect(splitDocument(whole, { maxItemsOf: () => 25_000 }).map((part) => checkDocument(part).items.length)).toEqual([
      25_000, 1,
    ]);
  });

  it.each([
    [
      'a container that is packed once',
      { action_id: 911, sscc: ssccOf(1), ...own, content: { sgtin: packs(5) } },
      'never split: a container is packed once',
    ],
    [
      'a correction',
      {
        ...{ action_id: 254, ...own, counterparty_id: '00000000100102', action_id_type: 415, operation_id: 'x' },
        details: { order_details: { union: packs(5).map((sgtin) => ({ sgtin })) } },
      },
      'never split: it corrects one document, which has no more items',
    ],
    [
      'a single sale above the limit',
      {
        action_id: 511,
        ...own,
        sales: {
          union: [
            {
              detail: packs(5).map((sgtin) => ({ sgtin, ...money })),
              sale_docs: { doc_type: '1', doc_number: '1', doc_date: '20.11.2026' },
            },
          ],
        },
      },
      'one of its rows alone has more',
    ],
  ])('refuses %s in words', (_name, json, words) => {
    const refusal = (): unknown => splitDocument(buildDocument(json), { maxItemsOf: () => 3 });
    expect(refusal).toThrow(PedigreeError);
    expect(refusal).toThrow(words);
  });
});
