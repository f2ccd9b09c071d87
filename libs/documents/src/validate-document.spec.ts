import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { readFacts } from '../test/facts.js';
import { faultsOf, instancesOf, xmlOf } from '../test/instances.js';
import { MOST_PROBLEMS, validateDocument } from './validate-document.js';

const SEED = 20261122;
const fixtures = new URL('../fixtures/', import.meta.url);
const fixture = (name: string): string => readFileSync(new URL(name, fixtures), 'utf8');
const ofType = (docType: number): string =>
  fixture(readdirSync(fixtures).find((name) => name.startsWith(`${docType}-`)) as string);
const validated = (text: string) => validateDocument(Buffer.from(text));
function changed(docType: number, from: string | RegExp, to: string): string {
  const before = ofType(docType);
  const after = before.replace(from, to);
  if (after === before) throw new Error(`the fixture of ${docType} does not hold ${String(from)}`);
  return after;
}

const DAY = 'a day that exists, DD.MM.YYYY';
const MOMENT = 'a date and time that exist, YYYY-MM-DDThh:mm:ss';

describe('what is wrong is told in plain English', () => {
  it.each([
    [415, '20.11.2026', '31.02.2026', `"31.02.2026" in <doc_date> does not have the form that it must have: ${DAY}`],
    [415, '<doc_num>', '<doc_num> ', '" SHIP\\42 & co" in <doc_num> begins or ends with a blank'],
    [415, '120.50', '120.505', '"120.505" in <cost> may have 2 digits after its point at most'],
    [415, '120.50', 'much', '"much" in <cost> is not a number, with a point before its fraction'],
    [415, '2026-11-20T', '2026-02-30T', `"2026-02-30T10:15:00+03:00" in <operation_date> is not ${MOMENT}`],
    [415, '2026-11-20T', '1999-02-03T', 'operation_date "1999-02-03T10:15:00+03:00" is outside the years 2000 to 2100'],
    [552, '<withdrawal_type>7<', '<withdrawal_type>77<', /^"77" in <withdrawal_type> must be one of 6, .* more$/],
    [552, '1/3', 'a third', /^"a third" in withdrawal_part of <sgtin> does not have the form that it must have: /],
    [
      701,
      '<order_details>',
      '<colour>red</colour><order_details>',
      '<colour> must not stand here; expected is one of <confirm_paused>, <order_details>',
    ],
    [
      415,
      /\s*<order_details>[\s\S]*<\/order_details>/,
      '',
      /^<move_order> is not complete: one of <.*>, <order_details> is missing$/,
    ],
    [911, '<content>', '<content colour="red">', '<content> must not have the attribute colour'],
    [415, '</move_order>', 'x</move_order>', /^text stands between elements/],
    [415, 'version="1.38"', 'version="1.20"', /^documents\/@version is 1.20; the registry takes 1.34, /],
    [415, 'action_id="415"', 'action_id="4150"', 'action_id of <move_order> is "4150" and must be "415"'],
    [415, /documents(?=[ >])/g, 'papers', /^the root element is <papers>/],
  ])('%d with %s instead of %s', (docType, from, to, sentence) => {
    const { problems, more } = validated(changed(docType, from, to));
    expect(problems.map((one) => one.sentence)).toEqual([
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    ]);
    expect(more).toBe(false);
  });

  it('a missing attribute, a long text, and an item that stands twice, each with its line and path', () => {
    const row = '<union><sgtin>04601234567893PEDIGREE00001</sgtin><cost>1</cost><vat_value>1</vat_value></union>';
    const text = changed(
      415,
      /<order_details>[\s\S]*<\/order_details>/,
      `<order_details>\n${row}\n${row}\n</order_details>`,
    ).replace(/<doc_num>[^<]*/, `<doc_num>${'9'.repeat(300)}`);
    expect(validated(text)).toEqual({
      problems: [
        {
          line: 6,
          path: '/documents/move_order/doc_num',
          sentence: '<doc_num> has 300 characters and must have 200 at most',
        },
        {
          line: 14,
          path: '/documents/move_order/order_details/union[2]',
          sentence: 'the pack 04601234567893PEDIGREE00001 stands here twice',
        },
      ],
      more: false,
      schemaSet: 'pedigree-1.38',
      version: '1.38',
      docType: 415,
    });
    expect(validated(fixture('receipt-accepted.xml').replace(/ accept_time="[^"]*"/, '')).problems).toMatchObject([
      { path: '/documents/result', sentence: '<result> has no attribute accept_time' },
    ]);
  });

  it('a good document, and a good answer, have no problems', () => {
    for (const text of [ofType(415), fixture('receipt-accepted.xml')])
      expect(validated(text)).toMatchObject({ problems: [], more: false, schemaSet: 'pedigree-1.38', version: '1.38' });
  });

  it('all wrong rows are told, the first thousand of them, and that there are more', () => {
    const rows = Array.from(
      { length: MOST_PROBLEMS + 5 },
      (_, n) => `<union><sgtin>0460123456789${n}</sgtin><cost>1</cost><vat_value>1</vat_value></union>\n`,
    );
    const text = changed(
      415,
      /<order_details>[\s\S]*<\/order_details>/,
      `<order_details>\n${rows.join('')}</order_details>`,
    );
    const { problems, more } = validated(text);
    expect(problems).toHaveLength(MOST_PROBLEMS);
    expect(new Set(problems.map(({ line }) => line)).size).toBe(MOST_PROBLEMS);
    expect(more).toBe(true);
  });
});

/** Words of the validator. */
const JARGON =
  /facet|atomic type|identity-constraint|This element|child element\(s\)|The value|The attribute|^Element '/;

it(`documents of every type with one fault each are judged without the validator's words (seed ${SEED})`, () => {
  for (const type of readFacts().types)
    for (const action of fc.sample(instancesOf(type), { seed: SEED, numRuns: 1 })) {
      expect(validated(xmlOf(action)).problems).toEqual([]);
      for (const { what, xml } of faultsOf(action)) {
        const { problems } = validated(xml);
        expect([what, problems.length > 0]).toEqual([what, true]);
        expect(problems.filter(({ sentence }) => JARGON.test(sentence))).toEqual([]);
        const places = problems.map(({ line, path }) => `${line} ${path}`);
        expect([what, new Set(places).size]).toEqual([what, places.length]);
      }
    }
});

it('nothing that a file may hold makes it throw', () => {
  const whole = ofType(552);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some)),
    fc.nat(whole.length).map((end) => Buffer.from(whole.slice(0, end))),
    fc
      .tuple(fc.nat(whole.length), fc.string({ maxLength: 5 }))
      .map(([at, text]) => Buffer.from(whole.slice(0, at) + text + whole.slice(at + 3))),
  );
  fc.assert(
    fc.property(bytes, (some) => {
      const { problems } = validateDocument(some);
      expect(problems.every(({ sentence }) => sentence.length > 0)).toBe(true);
    }),
    { seed: SEED, numRuns: 500 },
  );
});
