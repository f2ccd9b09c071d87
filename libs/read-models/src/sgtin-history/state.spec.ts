import { describe, expect, it } from '@jest/globals';
import { box, pack } from '../../test/fixture.js';
import { lifeThrough, OTHERS, OURS, THIRD, type LifeDocument } from '../../test/life-fixture.js';
import { afterUse } from './part-left.js';
import type { Fact, Folded } from './state.js';

const P = pack(1);
const B = box(1);
const GTIN = P.slice(0, 14);
const received: LifeDocument = { docType: 702, items: [P], counterparty: OTHERS };
const shipped: LifeDocument = { docType: 415, items: [P], counterparty: OTHERS };
const accepted: LifeDocument = { docType: 607, items: [P], subject: OTHERS, counterparty: OURS };
const packed: LifeDocument = { docType: 911, items: [{ id: P, into: B }], fields: { sscc: B } };

/** The values of some facts. */
const facts = ({ state }: Folded) =>
  Object.fromEntries(
    (['status', 'place', 'owner', 'holder'] as const).map((name) => [name, (state[name] as Fact | undefined)?.value]),
  );
const after = (...documents: LifeDocument[]) => lifeThrough(P, documents);
const at = (place: string, status = 'in_circulation') => ({ status, place, owner: place, holder: place });

describe('a transfer', () => {
  it('leaves the goods the shipper’s until the receiver accepts them', () => {
    const underway = after(received, shipped);
    expect(facts(underway)).toEqual({ status: 'in_realization', place: OTHERS, owner: OURS, holder: OURS });
    expect(underway.state.transfer).toMatchObject({
      value: { from: OURS, to: OTHERS, order: 'direct' },
      by: { position: 2n },
    });
    const done = after(received, shipped, accepted);
    expect(facts(done)).toEqual(at(OTHERS));
    expect(done.state.owner?.by.position).toBe(3n);
    expect(done.state).not.toHaveProperty('transfer');
    expect(done.state.findings).toEqual([]);
  });

  it('in reverse order makes the receiver the owner when the shipper confirms', () => {
    const claimed: LifeDocument = { docType: 416, items: [P], counterparty: OTHERS };
    expect(facts(after(claimed))).toEqual({ status: 'waiting_confirmation', place: OURS, owner: OTHERS, holder: OURS });
    const confirmed = after(claimed, { docType: 607, items: [P], subject: OTHERS, counterparty: OURS });
    expect(facts(confirmed)).toEqual(at(OURS));
  });

  it.each([
    ['recalled by the shipper', { docType: 251, items: [P], counterparty: OTHERS }],
    ['refused by the receiver', { docType: 606, items: [P], subject: OTHERS, counterparty: OURS }],
  ])('that is %s leaves the goods where they came from', (_, end) => {
    const ended = after(received, shipped, end);
    expect(facts(ended)).toEqual(at(OURS));
    expect(ended.state).not.toHaveProperty('transfer');
  });

  it('gives an agent the goods to answer for, and not to own', () => {
    expect(facts(after(received, { docType: 472, items: [P], counterparty: OTHERS }))).toEqual({
      status: 'transferred_to_agent',
      place: OTHERS,
      owner: OURS,
      holder: OTHERS,
    });
  });

  it('of a container carries what is in it', () => {
    const carried = after(received, packed, { ...shipped, items: [B] }, { ...accepted, items: [B] });
    expect(facts(carried)).toEqual(at(OTHERS));
    expect(carried.state.owner?.by).toMatchObject({ item: B, depth: 1 });
  });

  it('that nobody told of is a finding when it ends', () => {
    expect(after(accepted).state.findings).toMatchObject([{ kind: 'transfer_not_known', by: { position: 1n } }]);
  });

  it('accepted in part moves only the packs that the receipt does not name', () => {
    const partly: LifeDocument = { docType: 701, items: [P, pack(2)], counterparty: OTHERS, result: 'partial' };
    const told: LifeDocument = { docType: 601, items: [P, pack(2)], subject: OTHERS, counterparty: OURS };
    expect(facts(after(told, { ...partly, refused: [pack(2)] }))).toEqual(at(OURS));
    expect(facts(after(told, { ...partly, refused: [P] }))).toMatchObject({ owner: OTHERS, status: 'in_realization' });
  });
});

describe('late, recalled and corrected documents', () => {
  it('a document that is learnt late counts in the registry’s order', () => {
    const late = after({ ...received, at: 1 }, { ...accepted, at: 3 }, { ...shipped, at: 2 });
    expect(facts(late)).toEqual(at(OTHERS));
    expect(late.state.findings).toEqual([]);
    expect(late.lived.map(({ position }) => position)).toEqual([1n, 3n, 2n]);
  });

  it('a recall makes the operation as if it had not been, and what came after it stays', () => {
    const moved: LifeDocument = { docType: 431, items: [P], counterparty: THIRD };
    const recalled: LifeDocument = { docType: 250, fields: { operation_id: 'r2', recall_action_id: '431' } };
    expect(facts(after(received, moved))).toMatchObject({ place: THIRD, holder: THIRD });
    expect(facts(after(received, moved, recalled))).toEqual(at(OURS));
    expect(after(received, moved, recalled).state.place?.by.position).toBe(1n);
    expect(facts(after(received, moved, { ...recalled, result: 'rejected' }))).toMatchObject({ place: THIRD });
    const sold = after(received, moved, recalled, { docType: 511, items: [P] });
    expect(facts(sold)).toMatchObject({ status: 'in_sale', place: OURS });
    expect(sold.lived.map(({ docType, status }) => [docType, status])).toEqual([
      [702, 'in_circulation'],
      [431, null],
      [250, 'in_circulation'],
      [511, 'in_sale'],
    ]);
  });

  it('the recall of a move of all that a place held concerns only what was there then', () => {
    const emptied = (place: string): LifeDocument => ({
      docType: 431,
      items: [place],
      subject: place,
      counterparty: OTHERS,
    });
    const recalled: LifeDocument = { docType: 250, fields: { operation_id: 'r2', recall_action_id: '431' } };
    const typesOf = ({ lived }: Folded): number[] => lived.map(({ docType }) => docType);
    const [here, elsewhere] = [OURS, THIRD].map((place) => after(received, emptied(place), recalled)) as [
      Folded,
      Folded,
    ];
    expect(typesOf(here)).toEqual([702, 431, 250]);
    expect(typesOf(elsewhere)).toEqual([702]);
    expect([here, elsewhere].map((one) => facts(one).place)).toEqual([OURS, OURS]);
    // One that was accepted before the move recalls nothing of anybody.
    const [ahead, late] = [{ ...recalled, fields: { ...recalled.fields, operation_id: 'r3' } }, emptied(THIRD)];
    expect(typesOf(after(received, ahead, late))).toEqual([702]);
  });

  it('a second recall leaves the first one standing, and one before its operation changes nothing', () => {
    const moved: LifeDocument = { docType: 431, items: [P], counterparty: THIRD };
    const recall = (operation: string): LifeDocument => ({ docType: 250, fields: { operation_id: operation } });
    const further: LifeDocument = { ...moved, counterparty: OTHERS };
    expect(facts(after(received, moved, further, recall('r2'), recall('r3')))).toEqual(at(OURS));
    expect(facts(after(received, recall('r3'), moved))).toMatchObject({ place: THIRD });
  });
});

describe('a pack that is sold, used or withdrawn in part', () => {
  const sale = (part?: string): LifeDocument => ({
    docType: 511,
    items: [{ id: P, ...(part === undefined ? {} : { detail: { sold_part: part } }) }],
  });

  it.each([
    [['1/10', '2/10'], '7/10', 'in_partial_sale', []],
    [['1/2', '3/6'], '0', 'in_sale', []],
    [['1/3', '2/3'], '0', 'in_sale', []],
    [['2/3', '2/3'], '0', 'in_sale', ['more_than_whole']],
    [['1/3', undefined], '0', 'in_sale', []],
    [[undefined], '0', 'in_sale', []],
  ] as const)('after %j has %s left', (parts, left, status, findings) => {
    const { state } = after(received, ...parts.map(sale));
    expect([state.partLeft?.value, state.status?.value]).toEqual([left, status]);
    expect(state.findings.map(({ kind }) => kind)).toEqual(findings);
  });

  it('is whole again when it comes back, and keeps what a refused sale would have taken', () => {
    const { state } = after(received, sale('1/10'), { docType: 391, items: [P] });
    expect(state).not.toHaveProperty('partLeft');
    expect(state.status?.value).toBe('in_circulation');
    expect(after(received, { ...sale('1/10'), result: 'rejected' }).state).not.toHaveProperty('partLeft');
  });

  it('is doubtful after a correction of the till, until a sale tells more', () => {
    const corrected = { docType: 10501, items: [{ id: P, detail: { corrected_part: '1/5', origin_receipt_id: '7' } }] };
    expect(after(received, sale('1/10'), corrected).state.doubts).toMatchObject([{ parts: ['part_left'] }]);
  });

  it('counts parts of any size exactly', () => {
    expect(afterUse('1/3', '1/3')).toEqual({ left: '0', isMoreThanWhole: false });
    expect(afterUse(undefined, '1/99999999999999999999')).toEqual({
      left: '99999999999999999998/99999999999999999999',
      isMoreThanWhole: false,
    });
  });
});

describe('a move between own places', () => {
  const marked: LifeDocument = { docType: 10311, items: [P] };
  const released: LifeDocument = { docType: 313, items: [P] };

  it.each([431, 470])('(%d) leaves a pack what it is, also one that is not in circulation yet', (docType) => {
    const moved: LifeDocument = { docType, items: [P], counterparty: THIRD };
    expect(facts(after(marked, moved))).toMatchObject({ status: 'marked', place: THIRD });
    expect(facts(after(marked, released, moved))).toMatchObject({ status: 'in_circulation', place: THIRD });
    const recalled: LifeDocument = { docType: 250, fields: { operation_id: 'r2', recall_action_id: '313' } };
    expect(facts(after(marked, released, recalled, moved))).toMatchObject({ status: 'marked', place: THIRD });
    expect(facts(after(marked, packed, { ...moved, items: [B] }))).toMatchObject({ status: 'marked', place: THIRD });
  });
});

describe('what cannot be told', () => {
  it('is doubted part by part, with the reason, until a document tells it', () => {
    const unknown: LifeDocument = { docType: 471, items: [P], counterparty: OTHERS };
    const doubtful = after(received, unknown);
    expect(facts(doubtful)).toEqual(at(OURS));
    expect(doubtful.state.doubts).toMatchObject([
      {
        parts: ['status', 'place', 'owner', 'holder', 'containment'],
        why: 'what a document of type 471 (Change of holder, state supply) does to a pack is not publicly known',
        by: { position: 2n },
      },
    ]);
    expect(after(received, unknown, packed).state.doubts).toMatchObject([{ parts: ['status', 'place'] }]);
    expect(after(received, unknown, received).state.doubts).toEqual([]);
  });

  it('of a partial receipt is only what its type changes, and inside a container not the container', () => {
    const doubted: LifeDocument = { docType: 431, items: [B, pack(3)], counterparty: THIRD, result: 'partial' };
    const { state } = after(received, packed, { ...doubted, refused: [pack(9)] });
    expect(state.doubts).toMatchObject([{ parts: ['place', 'owner', 'holder'], by: { item: B } }]);
  });

  it('refused movements change nothing', () => {
    expect(after(received, { ...shipped, result: 'rejected' }).state).toEqual(after(received).state);
  });
});

describe('series, expiry and money', () => {
  const marked: LifeDocument = {
    docType: 10311,
    items: [P],
    fields: { series_number: 'A 17', expiration_date: '31.12.2028' },
  };

  it('come from documents that name them', () => {
    const { state } = after(marked, { ...shipped, fields: { source: '2' } });
    expect([state.series?.value, state.expiry?.value, state.funding?.value]).toEqual(['A 17', '2028-12-31', '2']);
    expect(state.series?.by.position).toBe(1n);
  });

  it('come from what a container is said to hold of the product, where that is one series', () => {
    const holding = (...lots: { gtin: string; series: string }[]): LifeDocument => ({
      ...shipped,
      items: [{ id: B, lots }],
    });
    const other = { gtin: '04600000000000', series: 'X' };
    const own = { gtin: GTIN, series: 'A 17' };
    expect(after(packed, holding(own, other)).state.series?.value).toBe('A 17');
    expect(after(packed, holding(own, { ...own, series: 'B 18' })).state).not.toHaveProperty('series');
    expect(after(packed, holding(other)).state).not.toHaveProperty('series');
  });

  it('that contradict each other are a finding, but for the document that corrects them', () => {
    const again = { ...marked, fields: { series_number: 'B 18' } };
    expect(after(marked, again).state).toMatchObject({
      series: { value: 'B 18' },
      findings: [{ kind: 'series_contradicts', other: 'A 17' }],
    });
    const corrected = { docType: 253, items: [{ id: P, detail: { series_number: 'B 18' } }] };
    expect(after(marked, corrected).state).toMatchObject({ series: { value: 'B 18' }, findings: [] });
    expect(after(marked, { ...again, result: 'rejected' }).state.series?.value).toBe('A 17');
  });

  it('are corrected by a document that names the container alone', () => {
    const correcting = (detail: Record<string, string>): LifeDocument => ({ docType: 253, items: [{ id: B, detail }] });
    const expiring = correcting({ expiration_date: '31.01.2027' });
    expect(after(marked, packed, expiring).state).toMatchObject({
      ...{ series: { value: 'A 17' }, expiry: { value: '2027-01-31', by: { docType: 253 } } },
    });
    const { state } = after(marked, packed, correcting({ series_number: 'B 18' }));
    expect(state).toMatchObject({ series: { value: 'B 18' }, expiry: { value: '2028-12-31' }, findings: [] });
    expect(after(marked, expiring, packed).state.expiry?.value).toBe('2028-12-31');
  });
});

describe('a suspended pack', () => {
  it('says since when, until it leaves circulation', () => {
    const returned: LifeDocument = { docType: 417, items: [P], counterparty: OTHERS };
    const { state } = after(received, returned, accepted, { docType: 431, items: [P], counterparty: THIRD });
    expect(state).toMatchObject({ status: { value: 'paused_circulation' }, suspended: { by: { position: 2n } } });
    expect(after(received, returned, { docType: 552, items: [P] }).state).not.toHaveProperty('suspended');
  });
});

it('a move of a whole place leaves open in which container a pack is', () => {
  const { state } = lifeThrough(pack(1), [
    { docType: 702, items: [pack(1)] },
    { docType: 314, items: [pack(1)] },
    { docType: 432, fields: { subject_id: OURS }, counterparty: OTHERS },
  ]);
  expect(state.place?.value).toBe(OTHERS);
  expect(state.doubts.flatMap(({ parts }) => parts)).toEqual(['status', 'containment']);
});
