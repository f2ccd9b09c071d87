import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient, type Outcome } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs, PLACES } from '../../test/documents.js';

const BOX = '046000000000000017';
const OUTER = '046000000000000024';

describe('what documents do to packs, and for which reasons they fail', () => {
  let client: TestClient;
  let nextIndex = 0;

  beforeAll(async () => {
    client = await TestClient.start();
  });
  afterAll(() => client.stop());

  /** Fresh packs that the warehouse has accepted. */
  async function stock(count: number): Promise<string[]> {
    const ids = packs((nextIndex += 100), count);
    expectResult(await client.process(doc.accept(ids)), 'Accepted');
    return ids;
  }

  function expectResult(outcome: Outcome, result: 'Accepted' | 'Partial' | 'Rejected', errors: string[] = []): void {
    expect({ result: outcome.result, errors: outcome.errors }).toEqual({ result, errors });
    expect(outcome.metadata['status']).toBe(result === 'Rejected' ? 'FAILED_RESULT_READY' : 'PROCESSED');
    expect(outcome.metadata['processing_document_status']).toBe(result.toUpperCase());
  }

  it('a 701 makes awaited packs ours, once', async () => {
    expect(await client.pack(pack(1))).toMatchObject({
      known: true,
      touched: false,
      status: 'in_realization',
      owner: 'supplier-a',
      series: 'S000',
    });
    expectResult(await client.process(doc.accept([pack(1)])), 'Accepted');
    expect(await client.pack(pack(1))).toMatchObject({
      touched: true,
      status: 'in_circulation',
      owner: 'own',
      place: PLACES.warehouse,
      transfer: null,
    });
    expectResult(await client.process(doc.accept([pack(1), pack(2)])), 'Partial', [`15 ${pack(1)}`]);
    expect(await client.pack(pack(2))).toMatchObject({ owner: 'own' });
  });

  it('a 701 fails for goods of another receiver, branch or counterparty, and for packs that are not', async () => {
    expectResult(await client.process(doc.accept([pack(3, 900)])), 'Rejected', [`14 ${pack(3, 900)}`]);
    expectResult(await client.process(doc.accept([pack(3, 1)])), 'Rejected', [`14 ${pack(3, 1)}`]);
    expectResult(await client.process(doc.accept([pack(3)], { counterparty: PLACES.supplierB })), 'Rejected', [
      `17 ${pack(3)}`,
    ]);
    expectResult(await client.process(doc.accept([pack(90_000)])), 'Rejected', [`2 ${pack(90_000)}`]);
    expectResult(await client.process(doc.accept([pack(3)], { counterparty: '00000000999999' })), 'Rejected', ['42']);
    expectResult(await client.process(doc.accept([pack(3)], { subject: PLACES.customer })), 'Rejected', ['41']);
    expect(await client.pack(pack(3))).toMatchObject({ touched: false });
  });

  it('a 415 leaves goods awaiting the receiver; what is not ours or not here stays', async () => {
    const [a, b] = (await stock(2)) as [string, string];
    expectResult(await client.process(doc.moveOrder([a, pack(4)])), 'Partial', [`4 ${pack(4)}`]);
    expect(await client.pack(a)).toMatchObject({
      status: 'in_realization',
      owner: 'own',
      transfer: { from: PLACES.warehouse, to: PLACES.customer, order: 'direct' },
    });
    expectResult(await client.process(doc.moveOrder([a])), 'Rejected', [`13 ${a}`]);
    expectResult(await client.process(doc.moveOrder([b], { subject: PLACES.second })), 'Rejected', [`11 ${b}`]);
    expectResult(await client.process(doc.moveOrder([b], { receiver: '00000000999999' })), 'Rejected', ['42']);
    expectResult(await client.process(doc.moveOrder([b], { receiver: PLACES.second })), 'Rejected', ['43']);
    await client.control('POST', '/plant', {
      packs: [{ sgtin: b, owner: 'own', place: PLACES.warehouse, status: 'paused_circulation' }],
    });
    expectResult(await client.process(doc.moveOrder([b])), 'Rejected', [`12 ${b}`]);
  });

  it('a 431 moves between own places only', async () => {
    const [a] = (await stock(1)) as [string];
    expectResult(await client.process(doc.movePlace([a], { receiver: PLACES.customer })), 'Rejected', ['44']);
    expectResult(await client.process(doc.movePlace([a], { receiver: PLACES.warehouse })), 'Rejected', ['45']);
    expectResult(await client.process(doc.movePlace([a])), 'Accepted');
    expect(await client.pack(a)).toMatchObject({ place: PLACES.shop, status: 'in_circulation' });
    expectResult(await client.process(doc.movePlace([a])), 'Rejected', [`11 ${a}`]);
  });

  it('a 911 is all or nothing; a 912 takes apart; an SSCC is never used twice', async () => {
    const [a, b] = (await stock(2)) as [string, string];
    expectResult(await client.process(doc.unitPack(BOX, [a, b, pack(5)])), 'Rejected', [`4 ${pack(5)}`]);
    expect(await client.pack(a)).toMatchObject({ sscc: null });
    expectResult(await client.process(doc.unitPack(BOX, [a, b])), 'Accepted');
    expect(await client.pack(a)).toMatchObject({ sscc: BOX });
    expectResult(await client.process(doc.unitPack(BOX, await stock(1))), 'Rejected', ['21']);
    expectResult(await client.process(doc.unitPack(OUTER, [a])), 'Rejected', [`20 ${a}`]);
    expectResult(await client.process(doc.unitUnpack([BOX, OUTER])), 'Partial', [`2 ${OUTER}`]);
    expect(await client.pack(a)).toMatchObject({ sscc: null, status: 'in_circulation' });
    expectResult(await client.process(doc.unitUnpack([BOX])), 'Rejected', [`22 ${BOX}`]);
  });

  it('a unit travels whole; a pack that is named singly leaves it', async () => {
    const [a, b, c] = (await stock(3)) as [string, string, string];
    const box = '046000000000000031';
    const outer = '046000000000000048';
    expectResult(await client.process(doc.unitPack(box, [a, b])), 'Accepted');
    expectResult(await client.process(doc.unitPack(outer, [box, c])), 'Accepted');
    expectResult(await client.process(doc.retailSale([{ id: b }])), 'Accepted');
    expect(await client.pack(b)).toMatchObject({ status: 'in_sale', sscc: null });
    expectResult(await client.process(doc.movePlace([outer])), 'Accepted');
    expect(await client.pack(a)).toMatchObject({ place: PLACES.shop, sscc: box });
    expectResult(await client.process(doc.moveOrder([box], { subject: PLACES.shop })), 'Accepted');
    expect((await client.control('GET', `/truth/sscc/${outer}`)).json).toMatchObject({ packs: [c], containers: [] });
    expect(await client.pack(a)).toMatchObject({ status: 'in_realization', sscc: box });
    expectResult(await client.process(doc.unitUnpack([box], { subject: PLACES.shop })), 'Rejected', [`13 ${box}`]);
  });

  it('913 takes out, 914 puts in, and no unit lies in itself', async () => {
    const [a, b, c] = (await stock(3)) as [string, string, string];
    const box = '046000000000000055';
    const inner = '046000000000000062';
    await client.process(doc.unitPack(inner, [a]));
    await client.process(doc.unitPack(box, [inner, b]));
    expectResult(await client.process(doc.unitAppend(inner, [c, box])), 'Partial', [`23 ${box}`]);
    expectResult(await client.process(doc.unitExtract([c])), 'Accepted');
    expectResult(await client.process(doc.unitExtract([c])), 'Rejected', [`29 ${c}`]);
    expectResult(await client.process(doc.unitExtract([inner])), 'Accepted');
    expect((await client.control('GET', `/truth/sscc/${inner}`)).json).toMatchObject({ parent: null, packs: [a] });
    expectResult(await client.process(doc.unitUnpack([inner, box], { recursive: true })), 'Accepted');
  });

  it('a sale, a prescription, medical care and a withdrawal end a pack; 391 brings it back', async () => {
    const [a, b, c, d] = (await stock(4)) as [string, string, string, string];
    expectResult(await client.process(doc.retailSale([{ id: a }, { id: pack(6) }])), 'Partial', [`4 ${pack(6)}`]);
    expectResult(await client.process(doc.recipe([b])), 'Accepted');
    expectResult(await client.process(doc.healthCare([c])), 'Accepted');
    expectResult(await client.process(doc.withdrawal([d])), 'Accepted');
    const statuses = await Promise.all([a, b, c, d].map(async (id) => (await client.pack(id))['status']));
    expect(statuses).toEqual(['in_sale', 'in_discount_prescription_sale', 'in_medical_use', 'out_of_circulation']);
    expectResult(await client.process(doc.retailSale([{ id: a }])), 'Rejected', [`10 ${a}`]);
    expectResult(await client.process(doc.withdrawal([d, pack(90_001)])), 'Rejected', [`10 ${d}`, `2 ${pack(90_001)}`]);
    expectResult(await client.process(doc.returned([a, b, c, d])), 'Accepted');
    expect(await client.pack(d)).toMatchObject({ status: 'in_circulation' });
    expectResult(await client.process(doc.returned([a])), 'Rejected', [`10 ${a}`]);
  });

  it('a pack is sold in parts until it is used up, and no further', async () => {
    const [a] = (await stock(1)) as [string];
    expectResult(await client.process(doc.retailSale([{ id: a, part: '6/10' }])), 'Accepted');
    expect(await client.pack(a)).toMatchObject({ status: 'in_partial_sale', part_used: '6/10' });
    expectResult(await client.process(doc.retailSale([{ id: a, part: '5/10' }])), 'Rejected', [`26 ${a}`]);
    expectResult(await client.process(doc.retailSale([{ id: a, part: '4/10' }])), 'Accepted');
    expect(await client.pack(a)).toMatchObject({ status: 'in_sale', part_used: null });
  });

  it('a 416 waits for the shipper', async () => {
    const id = pack(7, 0, 'PLANT');
    await client.control('POST', '/plant', { packs: [{ sgtin: id, owner: 'supplier-a', place: PLACES.supplier }] });
    expectResult(await client.process(doc.receiveOrder([id, pack(8)])), 'Partial', [`13 ${pack(8)}`]);
    expect(await client.pack(id)).toMatchObject({
      status: 'waiting_confirmation',
      owner: 'supplier-a',
      transfer: { order: 'reverse' },
    });
    expectResult(await client.process(doc.accept([id])), 'Rejected', [`14 ${id}`]);
  });

  it('marked packs are released into circulation', async () => {
    const id = `${doc.GTIN}NEWPACK000001`;
    expectResult(await client.process(doc.endPacking([id])), 'Accepted');
    expect(await client.pack(id)).toMatchObject({ status: 'marked', series: 'NEW1' });
    expectResult(await client.process(doc.endPacking([id, pack(9)])), 'Rejected', [`24 ${id}`, `24 ${pack(9)}`]);
    expectResult(await client.process(doc.moveOrder([id])), 'Rejected', [`10 ${id}`]);
    expectResult(await client.process(doc.emission([id])), 'Accepted');
    expect(await client.pack(id)).toMatchObject({ status: 'in_circulation' });
  });
});

describe('what an error names when a pack inside a listed container is wrong', () => {
  const GOOD = '046000000000000079';

  it.each([
    ['container', [`4 ${BOX}`]],
    ['pack', [`4 ${pack(2, 0, 'INNER')}`, `12 ${pack(3, 0, 'INNER')}`]],
    ['nothing', ['4']],
  ] as const)('%s: the container stays as it is and the rest is done', async (innerErrors, errors) => {
    const client = await TestClient.start({ innerErrors });
    try {
      const at = (index: number, sscc: string) => ({ sgtin: pack(index, 0, 'INNER'), sscc, place: PLACES.warehouse });
      const sound = [at(0, GOOD), at(1, BOX)].map((one) => ({ ...one, owner: 'own' }));
      const packsInside = [
        ...sound,
        { ...at(2, BOX), owner: 'supplier-a' },
        { ...at(3, BOX), owner: 'own', status: 'paused_circulation' },
      ];
      expect((await client.control('POST', '/plant', { packs: packsInside })).status).toBe(200);
      const outcome = await client.process(doc.moveOrder([BOX, GOOD]));
      expect({ result: outcome.result, errors: outcome.errors }).toEqual({ result: 'Partial', errors });
      expect(await client.pack(pack(1, 0, 'INNER'))).toMatchObject({ status: 'in_circulation', transfer: null });
      expect(await client.pack(pack(0, 0, 'INNER'))).toMatchObject({ status: 'in_realization' });
      const alone = await client.process(doc.moveOrder([BOX]));
      expect({ result: alone.result, errors: alone.errors }).toEqual({ result: 'Rejected', errors });
    } finally {
      await client.stop();
    }
  });
});
