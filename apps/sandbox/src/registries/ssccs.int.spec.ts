import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs, PLACES } from '../../test/documents.js';
import { list, plant } from '../../test/registries.js';

const BOX = '046000000000000017';
const SECOND = '046000000000000024';
const PALLET = '046000000000000031';
const FOREIGN = '046000000000000048';
const UNKNOWN = '046000000000000055';

describe.each(['interface-v1', 'mdlp'])('logistic units, by %s', (profile) => {
  let client: TestClient;

  beforeAll(async () => {
    client = await TestClient.start({ processingMs: 0, profile });
    await client.process(doc.accept(packs(1, 5)));
    await client.process(doc.unitPack(BOX, packs(1, 2)));
    await client.process(doc.unitPack(SECOND, packs(3, 1)));
    await client.process(doc.unitPack(PALLET, [pack(4), pack(5), BOX, SECOND]));
    await plant(client, {
      gtin: doc.GTIN,
      prefix: 'FOREIGN',
      from: 1,
      count: 2,
      owner: 'customer-a',
      place: PLACES.customer,
      sscc: FOREIGN,
    });
  });
  afterAll(() => client.stop());

  const ssccs = (units: { sscc: string }[]) => units.map((one) => one.sscc);

  it('show what holds them and what they hold', async () => {
    const box = (await client.get(`/reestr/sscc/${BOX}/hierarchy`)).json;
    expect([ssccs(box.up), ssccs(box.down)]).toEqual([[BOX, PALLET], [BOX]]);
    expect(box.up[0]).toMatchObject({
      system_subj_id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
      release_date: expect.stringMatching(/^202\d-.*Z$/),
    });
    const pallet = (await client.get(`/reestr/sscc/${PALLET}/hierarchy`)).json;
    expect([ssccs(pallet.up), ssccs(pallet.down)]).toEqual([[PALLET], [PALLET, BOX, SECOND]]);
  });

  it('answer a miss with 200 and an error_code', async () => {
    const unknown = await client.get(`/reestr/sscc/${UNKNOWN}/hierarchy`);
    expect([unknown.status, unknown.json]).toEqual([
      200,
      { up: [], down: [], error_code: 2, error_desc: expect.any(String) },
    ]);
    expect((await client.get(`/reestr/sscc/${FOREIGN}/hierarchy`)).json).toMatchObject({ up: [], error_code: 4 });
    const inside = await list(client, `/reestr/sscc/${UNKNOWN}/sgtins`);
    expect([inside.status, inside.json]).toMatchObject([200, { entries: [], total: 0, error_code: 2 }]);
  });

  it('list the packs that lie directly in them, page by page', async () => {
    const pages = await Promise.all(
      [0, 1].map(
        async (from) => (await list(client, `/reestr/sscc/${PALLET}/sgtins`, {}, { start_from: from, count: 1 })).json,
      ),
    );
    expect(pages.map((one) => one.total)).toEqual([2, 2]);
    expect(pages.flatMap((one) => one.entries.map((entry: { sgtin: string }) => entry.sgtin))).toEqual([
      pack(4),
      pack(5),
    ]);
    expect(pages[0].entries[0]).toMatchObject({ pack3_id: PALLET, status: 'in_circulation' });
    expect((await list(client, `/reestr/sscc/${BOX}/sgtins`)).json.total).toBe(2);
    await client.process(doc.unitExtract([pack(4), pack(5)]));
    expect((await list(client, `/reestr/sscc/${PALLET}/sgtins`)).json).toEqual({ entries: [], total: 0 });
    await client.process(doc.unitAppend(PALLET, [pack(4), pack(5)]));
  });

  it('filter the registry of packs', async () => {
    const { json } = await list(client, '/reestr/sgtin/filter', { pack3_id: BOX });
    expect([json.total, json.entries.map((one: { sgtin: string }) => one.sgtin)]).toEqual([2, packs(1, 2)]);
    expect((await list(client, '/reestr/sgtin/filter', { pack3_id: BOX, status: ['in_sale'] })).json.total).toBe(0);
  });

  it('show the whole tree, packs and units mixed', async () => {
    const { up, down } = (await client.get(`/reestr/sscc/${PALLET}/full-hierarchy`)).json;
    expect(up).toMatchObject({
      sscc: PALLET,
      owner_organization_name: 'Severny Sklad (sample distributor)',
      childs: [],
    });
    expect(down.childs.map((one: { sgtin?: string; sscc: string }) => one.sgtin ?? one.sscc)).toEqual([
      pack(4),
      BOX,
      SECOND,
      pack(5),
    ]);
    expect(down.childs[0]).toMatchObject({ sscc: PALLET, gtin: doc.GTIN, status: 'in_circulation', batch: 'S000' });
    expect(down.childs[1].childs.map((one: { sgtin: string }) => one.sgtin)).toEqual(packs(1, 2));
    expect((await client.get(`/reestr/sscc/${BOX}/full-hierarchy`)).json.up).toMatchObject({
      sscc: PALLET,
      childs: [{ sscc: BOX, childs: [] }],
    });
    expect((await client.get(`/reestr/sscc/${UNKNOWN}/full-hierarchy`)).status).toBe(404);
    expect((await client.get(`/reestr/sscc/${FOREIGN}/full-hierarchy`)).status).toBe(403);
  });

  it('show up to ten trees at once, named again or by commas, under the same interval', async () => {
    const trees = (await client.get(`/reestr/sscc/full-hierarchy?sscc=${BOX}&sscc=${SECOND},${PALLET}`)).json;
    expect(trees.map((one: { down: { sscc: string } }) => one.down.sscc)).toEqual([BOX, SECOND, PALLET]);
    expect((await client.get(`/reestr/sscc/full-hierarchy?sscc=${BOX},${UNKNOWN}`)).status).toBe(404);
    expect((await client.get('/reestr/sscc/full-hierarchy')).status).toBe(400);
    expect((await client.get(`/reestr/sscc/full-hierarchy?sscc=${Array(11).fill(BOX).join(',')}`)).status).toBe(400);
    const { calls } = (await client.control('GET', '/truth/calls')).json;
    expect(calls.find((one: { method: string }) => one.method === 'sscc_full_hierarchy').calls).toBeGreaterThanOrEqual(
      4,
    );
  });

  it('name the decision that suspends a pack inside, with its day', async () => {
    const { json } = await client.control('POST', '/suspensions', { sgtins: [pack(3)], halt_doc_num: 'D-1' });
    const { down } = (await client.get(`/reestr/sscc/${SECOND}/full-hierarchy`)).json;
    expect(down.childs).toMatchObject([
      {
        sgtin: pack(3),
        status: 'paused_circulation',
        pause_decision_info: { id: json.haltId, number: 'D-1', date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
      },
    ]);
  });
});
