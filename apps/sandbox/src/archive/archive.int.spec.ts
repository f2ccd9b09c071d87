import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs } from '../../test/documents.js';
import { list } from '../../test/registries.js';

describe.each(['interface-v1', 'mdlp'])('the archive, by %s', (profile) => {
  let client: TestClient;

  beforeEach(async () => {
    client = await TestClient.start({ processingMs: 0, profile });
    await client.process(doc.accept(packs(1, 3)));
    await client.process(doc.retailSale([{ id: pack(1) }, { id: pack(2) }]));
  });
  afterEach(() => client.stop());

  const live = async () =>
    (await list(client, '/reestr/sgtin/filter')).json.entries.map((one: { sgtin: string }) => one.sgtin).sort();
  const archived = async (sgtin: string) => (await client.get(`/reestr/sgtin/archive/${sgtin}`)).status === 200;

  it('takes a pack 60 days after its final status, not before, and no other', async () => {
    await client.advanceDays(60, -60_000);
    expect(await live()).toEqual(packs(1, 3));
    expect(await archived(pack(1))).toBe(false);
    await client.advance(60_000);
    expect(await live()).toEqual([pack(3)]);
    expect([await archived(pack(1)), await archived(pack(2)), await archived(pack(3))]).toEqual([true, true, false]);
  });

  it('answers with its own methods what the live ones answer no more', async () => {
    await client.advanceDays(61);
    expect((await client.get(`/reestr/sgtin/${pack(1)}`)).status).toBe(404);
    expect((await client.get(`/reestr/sgtin/documents?sgtin=${pack(1)}`)).status).toBe(404);
    expect((await list(client, '/reestr/sgtin/sgtins-by-list', { sgtins: [pack(1)] })).json).toMatchObject({
      failed: 1,
      failed_entries: [{ error_code: 2 }],
    });
    expect(
      (await list(client, '/reestr/sgtin/public/sgtins-by-list', { sgtins: [pack(1)] })).json.failed_entries,
    ).toEqual([pack(1)]);
    expect((await client.get(`/reestr/sgtin/archive/${pack(1)}`)).json).toMatchObject({
      sgtin_info: { status: 'in_sale', batch: 'S000' },
      gtin_info: { gtin: doc.GTIN },
    });
    expect((await client.get(`/reestr/sgtin/archive/documents?sgtin=${pack(1)}`)).json).toMatchObject({
      total: 2,
      entries: [{ doc_type: 511 }, { doc_type: 701 }],
    });
    const byList = (await list(client, '/reestr/sgtin/public/archive/sgtins-by-list', { sgtins: [pack(1), pack(3)] }))
      .json;
    expect(byList).toMatchObject({ total: 2, failed: 1, failed_entries: [pack(3)], entries: [{ sgtin: pack(1) }] });
  });

  it('keeps what it has when the series is suspended and freed again', async () => {
    await client.advanceDays(61);
    for (const halt_type of ['suspend', 'cancel'])
      await client.control('POST', '/suspensions', { gtin: doc.GTIN, batch: 'S000', halt_type });
    expect([await archived(pack(1)), await live()]).toEqual([true, [pack(3)]]);
    expect((await client.get(`/reestr/sgtin/archive/documents?sgtin=${pack(1)}`)).json.total).toBe(2);
  });

  it('gives back a pack that is planted anew, and counts its days anew', async () => {
    await client.advanceDays(61);
    await client.control('POST', '/plant', {
      packs: [{ sgtin: pack(1), owner: 'own', place: doc.PLACES.warehouse, status: 'in_sale' }],
    });
    expect([await archived(pack(1)), await live()]).toEqual([false, [pack(1), pack(3)]]);
    await client.advanceDays(60);
    expect([await archived(pack(1)), await live()]).toEqual([true, [pack(3)]]);
  });

  it('counts anew after a 391, whether it came before or after the move', async () => {
    await client.advanceDays(59);
    await client.process(doc.returned([pack(1)]));
    await client.advanceDays(2);
    expect(await live()).toEqual([pack(1), pack(3)]);
    expect((await client.process(doc.retailSale([{ id: pack(1) }]))).result).toBe('Accepted');
    expect((await client.process(doc.returned([pack(2)]))).result).toBe('Accepted');
    expect(await live()).toEqual(packs(1, 3));
    expect(await archived(pack(2))).toBe(false);
    await client.advanceDays(59);
    expect(await archived(pack(1))).toBe(false);
    await client.advanceDays(1);
    expect([await archived(pack(1)), await live()]).toEqual([true, [pack(2), pack(3)]]);
  });
});
