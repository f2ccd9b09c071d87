import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs } from '../../test/documents.js';
import { list } from '../../test/registries.js';

describe.each(['interface-v1', 'mdlp'])('suspension, by %s', (profile) => {
  let client: TestClient;

  beforeEach(async () => {
    client = await TestClient.start({ processingMs: 0, profile });
    await client.process(doc.accept(packs(1, 4)));
    await client.process(doc.accept([pack(1, 4)]));
  });
  afterEach(() => client.stop());

  const order = async (body: Record<string, unknown>) => (await client.control('POST', '/suspensions', body)).json;
  const series = { gtin: doc.GTIN, batch: 'S000' };
  const held = async (filter: Record<string, unknown> = {}) =>
    (await list(client, '/reestr/sgtin/on_hold', filter)).json.entries
      .map((one: { sgtin: string }) => one.sgtin)
      .sort();
  const status = async (sgtin: string) => (await client.pack(sgtin))['status'];

  it('of a series stops its packs with a real reason, and others not', async () => {
    const { haltId } = await order(series);
    expect([await status(pack(1)), await status(pack(1, 4))]).toEqual(['paused_circulation', 'in_circulation']);
    expect(await client.process(doc.moveOrder([pack(1), pack(1, 4)]))).toMatchObject({
      result: 'Partial',
      errors: [`12 ${pack(1)}`],
    });
    expect(await client.process(doc.retailSale([{ id: pack(2) }]))).toMatchObject({
      result: 'Rejected',
      errors: [`12 ${pack(2)}`],
    });
    expect(await client.process(doc.withdrawal([pack(4)]))).toMatchObject({ result: 'Accepted' });
    expect(await held()).toEqual(packs(1, 3));
    expect((await client.get(`/reestr/sgtin/${pack(1)}`)).json.sgtin_info).toMatchObject({
      status: 'paused_circulation',
      halt_id: haltId,
      halt_doc_num: 'SANDBOX-1',
    });
  });

  it('meets packs that come into circulation later, and shipped ones are listed at once', async () => {
    await client.process(doc.moveOrder([pack(1)]));
    await order(series);
    expect([await status(pack(1)), await held({ gtin: doc.GTIN, batch: 'S000' })]).toEqual([
      'paused_circulation',
      packs(1, 4),
    ]);
    // It stays on the shipper's balance, suspended, when he takes it back.
    await client.process(doc.recall([pack(1)]));
    expect(await client.pack(pack(1))).toMatchObject({ status: 'paused_circulation', owner: 'own', transfer: null });
    await client.process(doc.accept([pack(7)]));
    expect([await status(pack(7)), await held(), await held({ batch: 'S004' })]).toEqual([
      'paused_circulation',
      [...packs(1, 4), pack(7)],
      [],
    ]);
  });

  it('ends by a cancelling decision, and what was half sold is half sold again', async () => {
    await client.process(doc.retailSale([{ id: pack(2), part: '1/2' }]));
    await order(series);
    expect(await client.process(doc.retailSale([{ id: pack(2), part: '1/2' }]))).toMatchObject({
      errors: [`12 ${pack(2)}`],
    });
    await order({ ...series, halt_type: 'cancel' });
    expect([await status(pack(1)), await status(pack(2)), await held()]).toEqual([
      'in_circulation',
      'in_partial_sale',
      [],
    ]);
    expect(await client.process(doc.retailSale([{ id: pack(1) }, { id: pack(2), part: '1/2' }]))).toMatchObject({
      result: 'Accepted',
    });
  });

  it('of single packs holds these alone', async () => {
    await order({ sgtins: [pack(1), pack(3)] });
    expect(await held()).toEqual([pack(1), pack(3)]);
    expect(await held({ sgtin: pack(3) })).toEqual([pack(3)]);
    expect((await list(client, '/reestr/sgtin/on_hold', {}, { start_from: 1, count: 1 })).json).toMatchObject({
      total: 2,
      entries: [{ status: 'paused_circulation' }],
    });
    await order({ sgtins: [pack(1)], halt_type: 'cancel' });
    expect([await held(), await status(pack(1))]).toEqual([[pack(3)], 'in_circulation']);
  });

  it('lists decisions, newest first, with their packs', async () => {
    const first = await order({ ...series, halt_doc_num: 'D\\1' });
    const second = await order({ ...series, halt_type: 'cancel', halt_doc_num: 'D-2' });
    const path = '/reestr/paused-circulation-decisions/filter';
    const all = (await list(client, path)).json;
    expect(all).toMatchObject({
      total: 2,
      entries: [
        { halt_id: second.haltId, halt_type: 1 },
        { halt_id: first.haltId, halt_type: 0, halt_doc_num: 'D\\1', batch: 'S000', sgtin_count: 4 },
      ],
    });
    expect(
      (await list(client, path, { halt_type: 0 })).json.entries.map((one: { halt_id: string }) => one.halt_id),
    ).toEqual([first.haltId]);
    expect((await list(client, path, { gtin: '04600000000022' })).json.total).toBe(0);
    const inside = (
      await list(client, `/reestr/paused-circulation-decisions/${first.haltId}/sgtins/filter`, {}, { count: 3 })
    ).json;
    expect([inside.total, inside.entries.length, inside.entries[0].gtin]).toEqual([4, 3, doc.GTIN]);
    expect((await list(client, '/reestr/paused-circulation-decisions/none/sgtins/filter')).status).toBe(404);
  });

  it('is ordered with sense or not at all', async () => {
    for (const body of [
      {},
      { gtin: doc.GTIN },
      { ...series, sgtins: [pack(1)] },
      { sgtins: ['x'] },
      { ...series, halt_type: 'pause' },
      { sgtins: [pack(1), `04600000000022${pack(1).slice(14)}`] },
    ]) {
      expect((await client.control('POST', '/suspensions', body)).status).toBe(400);
    }
    expect((await client.control('GET', '/truth/suspensions')).json.decisions).toEqual([]);
  });
});
