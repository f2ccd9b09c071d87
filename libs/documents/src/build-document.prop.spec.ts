import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PedigreeError, type JsonObject, type JsonValue } from '#kernel';
import { buildDocument } from './build-document.js';
import { checkDocument } from './check-document.js';
import type { DocumentJson } from './port.js';

const SEED = 20261121;
const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));
const sgtin = fc.stringMatching(/^[0-9]{14}[0-9A-Za-z]{13}$/);
const sscc = digits(18);
const place = digits(14);
/**
 * One line of any characters that XML can carry, no blanks outside: quotes, angles, ampersands, letters beyond ASCII.
 */
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .map((text) => text.replace(/[\p{C}\s]/gu, '&<>"\\\'').slice(0, 200))
  .filter((text) => text !== '');
const money = fc
  .tuple(fc.nat(10 ** 9), fc.nat(99))
  .map(([whole, cents]) => `${whole}.${String(cents).padStart(2, '0')}`);
const date = fc
  .tuple(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 1, max: 12 }))
  .map(([day, month]) => `${String(day).padStart(2, '0')}.${String(month).padStart(2, '0')}.2026`);
const operationDate = fc.constantFrom('2026-11-20T10:15:00+03:00', '2026-11-20T07:15:00.123Z');
const signs = fc
  .record({ sgtin: fc.array(sgtin, { maxLength: 8 }), sscc: fc.array(sscc, { maxLength: 4 }) })
  .filter((lists) => lists.sgtin.length + lists.sscc.length > 0);
const priced = fc.array(
  fc.oneof(
    fc.record({ sgtin, cost: money, vat_value: money }),
    fc.record({ sscc_detail: fc.record({ sscc }), cost: money, vat_value: money }),
  ),
  { minLength: 1, maxLength: 8 },
);
const own = { subject_id: place, operation_date: operationDate };
const papers = { doc_num: line, doc_date: date };

const documents: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ action_id: fc.constant(701), counterparty_id: place, ...own, order_details: signs }),
  fc.record({ action_id: fc.constant(431), receiver_id: place, ...own, ...papers, order_details: signs }),
  fc.record({ action_id: fc.constant(911), sscc, ...own, content: signs }),
  fc.record({ action_id: fc.constant(913), ...own, content: signs }),
  fc.record({
    action_id: fc.constant(912),
    ...own,
    sscc: fc.array(sscc, { minLength: 1, maxLength: 9 }),
    is_recursive: fc.constant(true),
  }),
  fc.record({ action_id: fc.constant(252), ...own, shipper_id: place, reason: line, order_details: signs }),
  fc.record({
    action_id: fc.constant(415),
    receiver_id: place,
    ...own,
    ...papers,
    turnover_type: fc.constantFrom(1, '2'),
    source: fc.integer({ min: 1, max: 5 }),
    contract_type: fc.integer({ min: 1, max: 8 }),
    order_details: fc.record({ union: priced }),
  }),
  fc.record({
    action_id: fc.constant(511),
    ...own,
    sales: fc.record({
      union: fc.array(
        fc.record({
          detail: fc.array(
            fc.record(
              { sgtin, cost: money, vat_value: money, sold_part: fc.constantFrom('1/2', '3/10') },
              { requiredKeys: ['sgtin', 'cost', 'vat_value'] },
            ),
            { minLength: 1, maxLength: 5 },
          ),
          sale_docs: fc.record({ doc_type: fc.constant('1'), doc_number: line, doc_date: date }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  }),
  fc.record({
    action_id: fc.constant(552),
    ...own,
    ...papers,
    withdrawal_type: fc.constant('7'),
    order_details: fc.record({
      sgtin: fc.array(fc.oneof(sgtin, fc.record({ value: sgtin, withdrawal_part: fc.constant('1/3') })), {
        minLength: 1,
        maxLength: 6,
      }),
    }),
  }),
) as fc.Arbitrary<JsonObject>;

/** Every identifier in `json`, wherever it stands: found without any knowledge of types. */
function identifiersIn(json: JsonValue, name = ''): string[] {
  if (Array.isArray(json)) return json.flatMap((one) => identifiersIn(one, name));
  if (typeof json === 'object' && json !== null)
    return Object.entries(json).flatMap(([key, value]) => identifiersIn(value, key === 'value' ? name : key));
  return name === 'sgtin' || name === 'sscc' ? [String(json)] : [];
}

const shuffled = (json: JsonObject): fc.Arbitrary<JsonObject> =>
  fc
    .shuffledSubarray(Object.entries(json), { minLength: Object.keys(json).length })
    .map((entries) => Object.fromEntries(entries));

describe(`build, then read (seed ${SEED})`, () => {
  it('gives the same items and fields, in whatever order the ERP wrote them, and passes the schema', () => {
    fc.assert(
      fc.property(
        documents.chain((json) => fc.tuple(fc.constant(json), shuffled(json))),
        ([json, mixed]) => {
          const facts = checkDocument(buildDocument(mixed as DocumentJson));
          const expected = identifiersIn(json);
          const container = json.action_id === 911 ? [String(json.sscc)] : [];
          expect([...facts.items.map((item) => item.id), ...container].sort()).toEqual(expected.sort());
          const scalars = Object.entries(json).filter(
            ([name, value]) => name !== 'action_id' && typeof value !== 'object',
          );
          expect(facts.fields).toEqual(Object.fromEntries(scalars.map(([name, value]) => [name, String(value)])));
          expect(facts.docType).toBe(json.action_id);
          expect(buildDocument(mixed as DocumentJson)).toEqual(buildDocument(json as DocumentJson));
        },
      ),
      { seed: SEED, numRuns: 300, verbose: 1 },
    );
  });

  it('rows stay with their items', () => {
    fc.assert(
      fc.property(priced, place, line, (union, id, num) => {
        const json = {
          action_id: 415,
          subject_id: id,
          receiver_id: id,
          operation_date: '2026-11-20T07:15:00Z',
          doc_num: num,
          doc_date: '20.11.2026',
          turnover_type: 1,
          source: 1,
          contract_type: 1,
          order_details: { union },
        };
        const { items, docNum } = checkDocument(buildDocument(json as unknown as DocumentJson));
        expect(docNum).toBe(num);
        expect(items.map(({ id: item, detail }) => ({ item, ...detail }))).toEqual(
          union.map((row) => ({
            item: 'sgtin' in row ? row.sgtin : row.sscc_detail.sscc,
            cost: row.cost,
            vat_value: row.vat_value,
          })),
        );
      }),
      { seed: SEED, numRuns: 100, verbose: 1 },
    );
  });

  it('whatever the ERP writes, the answer is a document that reads, or a clear error with a pointer', () => {
    const anything = fc.oneof(
      fc.jsonValue().map((value) => ({ action_id: 415, order_details: value }) as DocumentJson),
      fc.dictionary(fc.string(), fc.jsonValue()).map((value) => ({ ...value, action_id: 701 }) as DocumentJson),
    );
    fc.assert(
      fc.property(anything, (json) => {
        try {
          buildDocument(json);
        } catch (error) {
          expect(error).toBeInstanceOf(PedigreeError);
          expect((error as PedigreeError).place.field).toMatch(/^\//);
        }
      }),
      { seed: SEED, numRuns: 500, verbose: 1 },
    );
  });
});
