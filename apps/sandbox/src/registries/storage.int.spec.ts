import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { documentOf } from '../../test/instance.js';
import { pack, packs, PLACES } from '../../test/documents.js';
import { list, plant } from '../../test/registries.js';

const PRODUCT = {
  gtin: doc.GTIN,
  prod_name: 'Paracetamol-A',
  prod_sell_name: 'Paracetamol-A 500 mg N20',
  reg_holder: 'Alfa Pharm (manufacturer)',
};

describe.each(['interface-v1', 'mdlp'])('virtual storage and queues, by %s', (profile) => {
  let client: TestClient;

  beforeEach(async () => {
    client = await TestClient.start({ processingMs: 0, profile });
  });
  afterEach(() => client.stop());

  const storage = async (filter: Record<string, unknown>) =>
    (await list(client, '/reestr/virtual-storage/filter', filter)).json;

  it('keeps the book of each product at each place, and it adds up to the packs that are there', async () => {
    await plant(client, { gtin: doc.GTIN, prefix: 'PLANTED', from: 1, count: 10 });
    await client.process(doc.accept(packs(1, 8)));
    await client.process(doc.retailSale([{ id: pack(1) }, { id: pack(2) }]));
    await client.process(doc.recipe([pack(3)]));
    await client.process(doc.healthCare([pack(4)]));
    await client.process(doc.withdrawal([pack(5)]));
    await client.process(doc.movePlace([pack(6), pack(7)]));
    await client.process(doc.returned([pack(1)]));
    await client.process(doc.moveOrder([pack(8)]));
    expect((await storage({ storage_id: PLACES.warehouse })).entries).toEqual([
      {
        storage_id: PLACES.warehouse,
        ...PRODUCT,
        opening_balance: 10,
        total_income: 9,
        total_outcome: 7,
        retail_sale: 2,
        discount_sale: 1,
        medical_use: 1,
        wholesale: 0,
        other: 4,
        production: 0,
        purchase_in_russia: 8,
        import: 0,
        ending_balance: 12,
      },
    ]);
    expect((await storage({ storage_id: PLACES.shop })).entries).toMatchObject([
      { opening_balance: 0, other: 2, ending_balance: 2 },
    ]);
    const { json } = await list(client, '/reestr/sgtin/filter', { status: ['in_circulation', 'in_realization'] });
    const ending = (await storage({})).entries.reduce(
      (sum: number, row: { ending_balance: number }) => sum + row.ending_balance,
      0,
    );
    expect([ending, json.total]).toEqual([14, 14]);
    expect(await storage({ gtin: '04600000000022' })).toEqual({ entries: [], total: 0 });
    expect((await list(client, '/reestr/virtual-storage/filter', { storage_id: PLACES.customer })).status).toBe(400);
  });

  it('tells a period: what lay there when it began, and what moved in it', async () => {
    await plant(client, { gtin: doc.GTIN, prefix: 'PLANTED', from: 1, count: 10 });
    await client.process(doc.accept(packs(1, 4)));
    await client.advanceDays(2);
    await client.process(doc.retailSale([{ id: pack(1) }]));
    const { virtualMs } = (await client.control('GET', '/clock')).json;
    const ago = (hours: number): string => new Date(virtualMs - hours * 3_600_000).toISOString();
    const book = async (start_date: string, end_date: string) => {
      const [row] = (await storage({ storage_id: PLACES.warehouse, start_date, end_date })).entries;
      return [row.opening_balance, row.total_income, row.total_outcome, row.ending_balance];
    };
    expect(await book(ago(24), ago(0).replace('Z', '9999Z'))).toEqual([14, 0, 1, 13]);
    expect(await book(ago(72), ago(24))).toEqual([10, 4, 0, 14]);
    expect(await book(ago(72).slice(0, 10), ago(-24).slice(0, 10))).toEqual([10, 4, 1, 13]);
    expect(await book(ago(96), ago(72))).toEqual([10, 0, 0, 10]);
  });

  it('finds products by parts of their names', async () => {
    await client.process(doc.accept(packs(1, 2)));
    for (const [filter, total] of [
      [{ prod_name: 'paracetamol-a' }, 1],
      [{ prod_sell_name: '500 mg' }, 1],
      [{ reg_holder: 'alfa' }, 1],
      [{ prod_name: 'ibuprofen' }, 0],
      [{ prod_sell_name: '200 mg' }, 0],
      [{ prod_name: 'paracetamol', reg_holder: 'beta' }, 0],
    ] as const)
      expect([filter, (await storage(filter)).total]).toEqual([filter, total]);
  });

  it('books what a participant makes as production', async () => {
    await client.process(doc.endPacking([`${doc.GTIN}NEWLYMADE0001`, `${doc.GTIN}NEWLYMADE0002`]));
    expect((await storage({})).entries).toMatchObject([
      { opening_balance: 0, production: 2, total_income: 2, ending_balance: 2 },
    ]);
  });

  it('queues a sale of goods that are not there yet, and withdraws them when they come', async () => {
    const path = '/reestr/sgtin/kkt/awaiting-withdrawal/filter';
    await client.control('POST', '/awaiting', {
      kind: 'kkt',
      sgtin: pack(1),
      branch: PLACES.warehouse,
      doc_type: 10_522,
      price: '10.50',
      vat_value: '1.05',
    });
    await client.control('POST', '/awaiting', { kind: 'kkt', sgtin: pack(2), branch: PLACES.shop });
    await client.process(doc.accept([pack(9)]));
    const queued = (await list(client, path, { branch_id: PLACES.warehouse })).json;
    expect(queued).toMatchObject({
      total: 1,
      entries: [
        {
          sgtin: pack(1),
          sold_type: 1,
          inn: '7701234501',
          price: 10.5,
          vat_value: 1.05,
          op_exec_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          last_check_status: { violation_reasons: [7] },
        },
      ],
    });
    expect((await list(client, path, { sgtin: pack(2) })).json.total).toBe(1);
    await client.process(doc.accept([pack(1)]));
    expect((await list(client, path)).json).toMatchObject({ total: 1, entries: [{ sgtin: pack(2) }] });
    expect((await client.pack(pack(1)))['status']).toBe('in_discount_prescription_sale');
    expect((await list(client, path, { op_end_date: '2020-01-01' })).json.total).toBe(0);
  });

  it('queues what a fiscal operator reports too early, and keeps its document in the history of the pack', async () => {
    const sale = documentOf(10_511, { subject_id: PLACES.warehouse, sgtin: [pack(1), pack(95_000)] });
    await client.control('POST', '/outside', { via: 'fiscal_operator', xml: sale });
    await client.advance(60_000);
    const { json } = await list(client, '/reestr/sgtin/kkt/awaiting-withdrawal/filter');
    expect(json).toMatchObject({
      total: 1,
      entries: [{ sgtin: pack(1), sold_type: 0, xml_document_id: expect.any(String) }],
    });
    await client.process(doc.accept([pack(1)]));
    expect((await list(client, '/reestr/sgtin/kkt/awaiting-withdrawal/filter')).json.total).toBe(0);
    const documents = (await client.get(`/reestr/sgtin/documents?sgtin=${pack(1)}`)).json;
    expect([documents.total, documents.entries[0]]).toMatchObject([
      2,
      { document_id: json.entries[0].xml_document_id, doc_type: 10_511 },
    ]);
  });

  it('queues disposals of registrars apart', async () => {
    await client.control('POST', '/awaiting', {
      kind: 'device',
      sgtin: pack(1),
      branch: PLACES.warehouse,
      doc_type: 10_531,
      device_id: '0000000000000001',
    });
    expect((await list(client, '/reestr/sgtin/kkt/awaiting-withdrawal/filter')).json.total).toBe(0);
    const { json } = await list(client, '/reestr/sgtin/device/awaiting-withdrawal/filter', {
      branch_id: PLACES.warehouse,
    });
    expect(json).toMatchObject({
      total: 1,
      entries: [
        { sgtin: pack(1), xml_document_type: 10_531, subject_id: PLACES.warehouse, device_id: '0000000000000001' },
      ],
    });
    for (const body of [
      {},
      { kind: 'kkt', sgtin: 'x', branch: PLACES.shop },
      { kind: 'kkt', sgtin: pack(1), branch: '1' },
      { kind: 'kkt', sgtin: pack(1), branch: PLACES.shop, doc_type: 10_531 },
      { kind: 'kkt', sgtin: pack(1), branch: PLACES.shop, price: 'ten' },
    ]) {
      expect((await client.control('POST', '/awaiting', body)).status).toBe(400);
    }
  });
});
