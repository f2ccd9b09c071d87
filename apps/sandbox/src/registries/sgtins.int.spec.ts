import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs, PLACES } from '../../test/documents.js';
import { list, plant } from '../../test/registries.js';

const OTHER_GTIN = '04600000000022';
const planted = (index: number): string => `${OTHER_GTIN}PLANTED${String(index).padStart(6, '0')}`;

describe.each(['interface-v1', 'mdlp'])('the registry of packs, by %s', (profile) => {
  let client: TestClient;
  let accepted: string;
  let sold: string;

  beforeAll(async () => {
    client = await TestClient.start({ processingMs: 0, profile });
    accepted = (await client.process(doc.accept(packs(1, 7)))).documentId;
    sold = (await client.process(doc.retailSale([{ id: pack(1) }, { id: pack(2) }]))).documentId;
    await plant(client, { gtin: OTHER_GTIN, prefix: 'PLANTED', from: 1, count: 5, series: 'P1' });
    await plant(client, {
      gtin: OTHER_GTIN,
      prefix: 'FOREIGN',
      from: 1,
      count: 2,
      series: 'P1',
      owner: 'customer-a',
      place: PLACES.customer,
    });
  });
  afterAll(() => client.stop());

  const found = async (filter: Record<string, unknown>, page = {}) => {
    const { status, json } = await list(client, '/reestr/sgtin/filter', filter, page);
    expect(status).toBe(200);
    return { sgtins: json.entries.map((one: { sgtin: string }) => one.sgtin).sort(), total: json.total };
  };

  it('lists the touched packs of the caller alone, and pages without loss or repeat', async () => {
    const all = [...packs(1, 7), ...[1, 2, 3, 4, 5].map(planted)].sort();
    expect(await found({})).toEqual({ sgtins: all, total: 12 });
    const pages = await Promise.all([0, 5, 10].map((from) => found({}, { start_from: from, count: 5 })));
    expect(pages.map((one) => one.sgtins.length)).toEqual([5, 5, 2]);
    expect(pages.flatMap((one) => one.sgtins).sort()).toEqual(all);
    expect(pages.map((one) => one.total)).toEqual([12, 12, 12]);
  });

  it('filters by status, product, series, pack and name', async () => {
    expect(await found({ status: ['in_sale'] })).toEqual({ sgtins: [pack(1), pack(2)], total: 2 });
    expect((await found({ status: ['in_sale', 'in_circulation'], gtin: doc.GTIN })).total).toBe(7);
    expect((await found({ gtin: OTHER_GTIN, batch: 'P1' })).total).toBe(5);
    expect((await found({ gtin: OTHER_GTIN, batch: 'P2' })).total).toBe(0);
    expect((await found({ batch: 'S000' })).total).toBe(7);
    expect(await found({ sgtin: pack(3) })).toEqual({ sgtins: [pack(3)], total: 1 });
    expect((await found({ sgtin: pack(3), status: ['in_sale'] })).total).toBe(0);
    expect((await found({ sell_name: 'ibuprofen' })).total).toBe(5);
    expect((await found({ emission_type: [3] })).total).toBe(0);
    expect((await found({ sys_id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b04' })).total).toBe(0);
  });

  it('filters by date in both formats', async () => {
    const { virtual } = (await client.control('GET', '/clock')).json;
    const day = virtual.slice(0, 10);
    expect(
      (await found({ last_tracing_op_date_from: '2026-01-01 00:00:00', last_tracing_op_date_to: `${day}T23:59:59Z` }))
        .total,
    ).toBe(12);
    expect((await found({ last_tracing_op_date_from: `${Number(day.slice(0, 4)) + 1}-01-01T00:00:00Z` })).total).toBe(
      0,
    );
    expect((await found({ release_date_to: '2025-12-31' })).total).toBe(0);
  });

  it('refuses a filter that it does not know, and a page that cannot be', async () => {
    expect((await list(client, '/reestr/sgtin/filter', { statu: ['in_sale'] })).json.error_description).toContain(
      '"statu"',
    );
    expect((await list(client, '/reestr/sgtin/filter', { last_tracing_op_date_from: 'yesterday' })).status).toBe(400);
    expect((await list(client, '/reestr/sgtin/filter', {}, { count: -1 })).status).toBe(400);
    expect((await list(client, '/reestr/sgtin/filter', {}, { count: 100_000 })).status).toBe(400);
    expect((await client.post('/reestr/sgtin/filter', { filter: {} })).status).toBe(401);
  });

  it('shows a record as the facts have it', async () => {
    const { json } = await client.get(`/reestr/sgtin/${pack(1)}`);
    expect(json.sgtin_info).toMatchObject({
      sgtin: pack(1),
      gtin: doc.GTIN,
      status: 'in_sale',
      batch: 'S000',
      inn: '7701234501',
      branch_id: PLACES.warehouse,
      emission_type: 1,
    });
    const elsewhere = (await client.get('/reestr/sgtin/04600000000039TESTS00000001')).json.sgtin_info;
    expect([json.sgtin_info, elsewhere]).toMatchObject([
      { federal_subject_code: '77', federal_subject_name: 'Москва' },
      { federal_subject_code: '78', federal_subject_name: 'Санкт-Петербург' },
    ]);
    expect(json.sgtin_info.status_date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(json.gtin_info).toMatchObject({ gtin: doc.GTIN, prod_sell_name: 'Paracetamol-A 500 mg N20' });
    expect(json.gtin_info).not.toHaveProperty('prod_desc_label');
  });

  it('answers one pack only to its owner or a side of its shipment', async () => {
    expect((await client.get(`/reestr/sgtin/${pack(90_000)}`)).status).toBe(404);
    expect((await client.get(`/reestr/sgtin/${OTHER_GTIN}FOREIGN000001`)).status).toBe(403);
    expect((await client.get(`/reestr/sgtin/${pack(5000)}`)).json.sgtin_info).toMatchObject({
      status: 'in_realization',
      owner: 'Alfa Pharm (manufacturer)',
    });
  });

  it('answers by list what it may, and says of the rest why not', async () => {
    const foreign = `${OTHER_GTIN}FOREIGN000001`;
    const { json } = await list(client, '/reestr/sgtin/sgtins-by-list', {
      sgtins: [pack(1), foreign, pack(90_001), pack(4000)],
    });
    expect(json).toMatchObject({ total: 4, failed: 2 });
    expect(json.entries.map((one: { sgtin: string }) => one.sgtin)).toEqual([pack(1), pack(4000)]);
    expect(json.failed_entries).toEqual([
      expect.objectContaining({ sgtin: foreign, error_code: 4 }),
      expect.objectContaining({ sgtin: pack(90_001), error_code: 2 }),
    ]);
    const seen = (await list(client, '/reestr/sgtin/public/sgtins-by-list', { sgtins: [foreign, pack(90_001)] })).json;
    expect(seen).toMatchObject({
      total: 2,
      failed: 1,
      failed_entries: [pack(90_001)],
      entries: [{ sgtin: foreign, reg_number: 'LP-000002', status: 'in_circulation' }],
    });
    expect(seen.entries[0]).not.toHaveProperty('inn');
    for (const sgtins of [[], undefined, 'x', [1], packs(1, 501)])
      expect((await list(client, '/reestr/sgtin/sgtins-by-list', { sgtins })).status).toBe(400);
  });

  it('tells the documents of one pack, newest first', async () => {
    const { json } = await client.get(`/reestr/sgtin/documents?sgtin=${pack(1)}`);
    expect(json.total).toBe(2);
    expect(json.entries.map((one: { document_id: string }) => one.document_id)).toEqual([sold, accepted]);
    expect(json.entries[0]).toMatchObject({ doc_type: 511, sgtin: pack(1) });
    expect((await client.get(`/reestr/sgtin/documents?sgtin=${pack(1)}&start_from=1`)).json.entries).toHaveLength(1);
    expect((await client.get('/reestr/sgtin/documents')).status).toBe(400);
    expect((await client.get(`/reestr/sgtin/documents?sgtin=${planted(1)}`)).json).toMatchObject({
      total: 0,
      entries: [],
    });
  });
});

describe('odd shapes of answers', () => {
  it('are given when the sandbox is started so', async () => {
    const client = await TestClient.start({ productLabel: 'old', singleAs: 'object', leafNames: 'internal_state' });
    try {
      const { json } = await client.get(`/reestr/med_products/${OTHER_GTIN}`);
      expect(json).toMatchObject({ prod_desc_label: 'Ibuprofen-A 200 mg N30' });
      expect(json).not.toHaveProperty('prod_sell_name');
      await plant(client, { gtin: OTHER_GTIN, prefix: 'PLANTED', from: 1, count: 1, sscc: '046000000000000017' });
      expect((await list(client, '/reestr/sgtin/filter')).json).toMatchObject({
        total: 1,
        entries: { sgtin: planted(1) },
      });
      const { down } = (await client.get('/reestr/sscc/046000000000000017/full-hierarchy')).json;
      expect(down.childs[0]).toMatchObject({ internal_state: 'in_circulation', series_number: '' });
    } finally {
      await client.stop();
    }
  });

  it.each([
    ['blank', [' ', ' ']],
    ['T', ['T', 'T']],
    ['both', ['T', ' ']],
  ] as const)('dates of documents are written with %s', async (listDates, separators) => {
    const client = await TestClient.start({ listDates, processingMs: 0 });
    try {
      await client.process(doc.accept([pack(1)]));
      await client.process(doc.accept([pack(2)]));
      const headers = await client.headers();
      const { documents } = (await client.post('/documents/outcome', {}, headers)).json;
      const written = documents.map((one: Record<string, string>) => [one['date']?.[10], one['processed_date']?.[10]]);
      expect(written.reverse()).toEqual(separators.map((separator) => [separator, separator]));
    } finally {
      await client.stop();
    }
  });

  it('misbehave on order like other lists', async () => {
    const client = await TestClient.start();
    try {
      await plant(client, { gtin: OTHER_GTIN, prefix: 'PLANTED', from: 1, count: 2 });
      await client.control('POST', '/faults', { fault: 'total_changes', method: 'sgtins', value: 3 });
      await client.control('POST', '/faults', { fault: 'repeated_entry', method: 'sgtins' });
      const { json } = await list(client, '/reestr/sgtin/filter');
      expect([json.total, json.entries.length, json.entries[2].sgtin === json.entries[0].sgtin]).toEqual([5, 3, true]);
      expect((await list(client, '/reestr/sgtin/filter')).json).toMatchObject({ total: 2 });
    } finally {
      await client.stop();
    }
  });
});
