import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { defined } from '#kernel';
import { effectsOf } from './effects-of.js';
import type { DocumentFacts, ItemEffect, ReceiptFacts } from './port.js';
import { readDocument } from './read-document.js';

const folder = new URL('../fixtures/', import.meta.url);
const given = (docType: number): DocumentFacts =>
  readDocument(
    readFileSync(new URL(readdirSync(folder).find((name) => name.startsWith(`${docType}-`)) as string, folder)),
  );
const pack = (i: number): string => `04601234567893PEDIGREE${String(i).padStart(5, '0')}`;
const box = (i: number): string => `04601234560000${String(i).padStart(4, '0')}`;
const [SUBJECT, OTHER] = ['00000000100930', '00000000100931'];

const receipt = (result: ReceiptFacts['result'], ...errors: ReceiptFacts['errors']): ReceiptFacts => ({
  operation: '1',
  operationId: 'x',
  result,
  acceptedAt: '2026-11-20T10:15:07+03:00',
  warnings: [],
  errors,
});
const about = (objectId: string, text = 'not yours') => ({ code: '12', text, objectId });
const aboutNothing = { code: '99', text: 'the day is closed' };
/** id: result, in order; what tests of partial receipts look at. */
const results = (effects: ItemEffect[]): string[] =>
  effects.map(({ item, result, errorCode }) => `${item.id} ${result}${errorCode === undefined ? '' : ` ${errorCode}`}`);
/** A move (431) of two packs and a container. */
const move = given(431);
const [first, container, second] = [pack(1), box(1), pack(2)];

describe('given an accepted document', () => {
  const effects = (docType: number) =>
    effectsOf(given(docType), receipt('accepted')).map(({ result, status, place, containment }) =>
      defined({ result, status, place, containment }),
    );
  const outOfContainer = { containment: { kind: 'taken_out' } };

  it.each([
    [10311, { owner: 'a9f1c2d4-5b6e-4f70-8a91-b2c3d4e5f607', holder: SUBJECT, series: 'A 17', expiry: '31.12.2028' }],
    [313, { owner: SUBJECT, holder: SUBJECT }],
    [415, { owner: SUBJECT, holder: SUBJECT, funding: '1' }],
    [416, { owner: OTHER, holder: SUBJECT, funding: '1' }],
    [431, { owner: SUBJECT, holder: '00000000100932' }],
    [252, { owner: OTHER, holder: OTHER }],
    [542, { owner: SUBJECT }],
    [210, {}],
  ])('%d says this of its first item', (docType, said) => {
    const [{ owner, holder, series, expiry, funding } = {} as ItemEffect] = effectsOf(
      given(docType),
      receipt('accepted'),
    );
    expect(defined({ owner, holder, series, expiry, funding })).toEqual(said);
  });

  it('the money that paid is told by its code alone, whatever blanks stand around it', () => {
    const facts = given(415);
    const [effect] = effectsOf({ ...facts, fields: { ...facts.fields, source: '\n 02 ' } }, receipt('accepted'));
    expect(effect?.funding).toBe('2');
  });

  it('415 says of a container which series of which product it holds, and nothing of what it refuses', () => {
    const lots = [{ gtin: '04601234567893', series: 'A 17' }];
    expect(effectsOf(given(415), receipt('accepted')).map((effect) => effect.lots)).toEqual([undefined, lots]);
    expect(effectsOf(given(415), receipt('rejected')).map((effect) => effect.lots)).toEqual([undefined, undefined]);
  });

  it.each([
    [10311, { status: 'marked', place: SUBJECT }],
    [313, { status: 'in_circulation', place: SUBJECT }],
    [391, { status: 'in_circulation', place: SUBJECT }],
    [415, { status: 'in_realization', place: OTHER, ...outOfContainer }],
    [601, { status: 'in_realization', place: OTHER, ...outOfContainer }],
    [416, { status: 'waiting_confirmation', place: SUBJECT, ...outOfContainer }],
    [431, { place: '00000000100932', ...outOfContainer }],
    [701, { status: 'in_circulation', place: SUBJECT, ...outOfContainer }],
    [251, { status: 'in_circulation', place: SUBJECT }],
    [252, { status: 'in_circulation', place: OTHER }],
    [606, { status: 'in_circulation', place: OTHER }],
    [542, { status: 'disposed', ...outOfContainer }],
    [911, { containment: { kind: 'packed', into: box(9) } }],
    [914, { containment: { kind: 'packed', into: box(9) } }],
    [913, outOfContainer],
    [912, { containment: { kind: 'opened', recursive: true } }],
    [210, {}],
    [617, {}],
  ])('%d does this to each of its items', (docType, effect) => {
    const items = given(docType).items.length;
    expect(items).toBeGreaterThan(0);
    expect(effects(docType)).toEqual(Array.from({ length: items }, () => ({ result: 'applied', ...effect })));
  });

  it('unpacking that is not recursive leaves inner containers closed', () => {
    const { is_recursive: _, ...fields } = given(912).fields;
    const opened = (said: Record<string, string>) =>
      effectsOf({ ...given(912), fields: said }, receipt('accepted'))[0]?.containment;
    expect(opened(fields)).toEqual({ kind: 'opened' });
    for (const no of ['false', '0']) expect(opened({ ...fields, is_recursive: no })).toEqual({ kind: 'opened' });
    // Both are true in XML Schema, and an empty element has the default of the schema, true.
    for (const yes of ['true', '1', ' 1 ', ''])
      expect(opened({ ...fields, is_recursive: yes })).toEqual({ kind: 'opened', recursive: true });
  });

  it.each([
    [511, 'in_sale', 'in_partial_sale'],
    [521, 'in_discount_prescription_sale', 'in_partial_discount_prescription_sale'],
    [531, 'in_medical_use', 'in_partial_medical_use'],
  ])('%d tells whole packs from parts', (docType, whole, part) => {
    const ofPack = new Map(
      effectsOf(given(docType), receipt('accepted')).map((effect) => [effect.item.detail?.sold_part, effect]),
    );
    expect(ofPack.get(undefined)).toMatchObject({ status: whole, containment: { kind: 'taken_out' } });
    expect(ofPack.get('1/2')).toMatchObject({ status: part, containment: { kind: 'taken_out' } });
  });

  it('a part a/a is the whole pack', () => {
    const facts = given(511);
    const items = facts.items.map((item) => ({ ...item, detail: { sold_part: '10/10' } }));
    expect(effectsOf({ ...facts, items }, receipt('accepted')).map((effect) => effect.status)).toEqual([
      'in_sale',
      'in_sale',
    ]);
  });

  it('withdrawing a part of a pack says so', () => {
    expect(effectsOf(given(552), receipt('accepted')).map((effect) => effect.status)).toEqual([
      'out_of_circulation',
      'in_partial_ooc',
      'out_of_circulation',
    ]);
  });
});

describe('given a rejected document', () => {
  it('everything is refused, each item for its own reason where there is one', () => {
    const effects = effectsOf(move, receipt('rejected', about(second), aboutNothing));
    expect(results(effects)).toEqual([`${first} refused 99`, `${container} refused 99`, `${second} refused 12`]);
    expect(
      effects.every(
        ({ status, place, containment }) => status === undefined && place === undefined && containment === undefined,
      ),
    ).toBe(true);
  });

  it('the comment is the reason when no error is given', () => {
    const effects = effectsOf(move, { ...receipt('rejected'), comment: 'Nothing was taken' });
    expect(effects.map((effect) => effect.errorText)).toEqual([
      'Nothing was taken',
      'Nothing was taken',
      'Nothing was taken',
    ]);
  });

  it('an item within a container that is named is the reason for all', () => {
    expect(results(effectsOf(move, receipt('rejected', about(pack(7)))))).toEqual([
      `${first} refused 12`,
      `${container} refused 12`,
      `${second} refused 12`,
    ]);
  });
});

describe('given a partial receipt', () => {
  const partly = (facts: DocumentFacts, ...errors: ReceiptFacts['errors']) =>
    effectsOf(facts, receipt('partial', ...errors));

  it('exactly the named items are refused; the rest is applied with its effect', () => {
    const effects = partly(move, about(second), about(container));
    expect(results(effects)).toEqual([`${first} applied`, `${container} refused 12`, `${second} refused 12`]);
    expect(effects[0]).toMatchObject({ place: '00000000100932' });
    expect(effects[1]).toEqual({
      item: { kind: 'sscc', id: container },
      result: 'refused',
      errorCode: '12',
      errorText: 'not yours',
    });
  });

  it('two errors about one item are told together', () => {
    expect(partly(move, about(first, 'a'), about(first, 'b'))[0]).toMatchObject({ errorCode: '12', errorText: 'a; b' });
  });

  it('an error that names nothing puts every item not named in doubt', () => {
    expect(results(partly(move, about(first), aboutNothing))).toEqual([
      `${first} refused 12`,
      `${container} undetermined 99`,
      `${second} undetermined 99`,
    ]);
  });

  it('without any error every item is in doubt', () => {
    const effects = partly(move);
    expect(results(effects)).toEqual([`${first} undetermined`, `${container} undetermined`, `${second} undetermined`]);
    expect(effects[0]).toEqual({ item: { kind: 'sgtin', id: first }, result: 'undetermined' });
  });

  it(
    'an item that can only lie in a listed container puts the containers in doubt and shows itself; packs listed ' +
      'singly are applied',
    () => {
      expect(results(partly(move, about(pack(7))))).toEqual([
        `${first} applied`,
        `${container} undetermined 12`,
        `${second} applied`,
        `${pack(7)} undetermined 12`,
      ]);
    },
  );

  it('an item that can only lie in a listed container is of the series that is said of all', () => {
    const facts = { ...move, docType: 253, fields: { ...move.fields, series_number: 'A 17', source: '1' } };
    const { item, ...said } = partly(facts, about(pack(7))).at(-1) as ItemEffect;
    expect(item).toEqual({ kind: 'sgtin', id: pack(7) });
    expect(said).toEqual({ result: 'undetermined', errorCode: '12', errorText: 'not yours', series: 'A 17' });
  });

  it('a container that is named itself is refused, whatever is named within', () => {
    expect(results(partly(move, about(container), about(pack(7))))).toEqual([
      `${first} applied`,
      `${container} refused 12`,
      `${second} applied`,
      `${pack(7)} undetermined 12`,
    ]);
  });

  it('an object that is in no way of this document puts every item in doubt', () => {
    const singles = { ...move, items: move.items.filter((item) => item.kind === 'sgtin') };
    expect(results(partly(singles, about(first), about(pack(7))))).toEqual([
      `${first} refused 12`,
      `${second} undetermined 12`,
    ]);
    expect(results(partly(move, about('04601234567893')))).toEqual([
      `${first} undetermined 12`,
      `${container} undetermined 12`,
      `${second} undetermined 12`,
    ]);
  });

  it('an error about the container that is packed into puts its content in doubt, and only that', () => {
    expect(results(partly(given(911), about(box(9)), about(second)))).toEqual([
      `${first} undetermined 12`,
      `${container} undetermined 12`,
      `${second} refused 12`,
    ]);
  });

  it.each([
    [10311, 0, { series: 'A 17', expiry: '31.12.2028' }],
    [415, 0, {}],
    [415, 1, { lots: [{ gtin: '04601234567893', series: 'A 17' }] }],
    [416, 0, {}],
    [511, 1, {}],
    [911, 0, {}],
  ])('of what it leaves open %d says of its item %d nothing but series and expiry', (docType, n, said) => {
    const facts = given(docType);
    const [item, remark] = [facts.items[n], { errorCode: '99', errorText: aboutNothing.text }];
    expect(partly(facts, aboutNothing)[n]).toEqual({ item, result: 'undetermined', ...remark, ...said });
  });
});

it('given a type of which no source tells what it does, its packs are undetermined and say why', () => {
  const [effect] = effectsOf({ ...move, docType: 471 }, receipt('accepted'));
  expect(effect).toMatchObject({ result: 'undetermined', errorText: expect.stringContaining('471 (Change of holder') });
});
