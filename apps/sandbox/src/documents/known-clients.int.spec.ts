import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, PLACES } from '../../test/documents.js';
import { list, plant } from '../../test/registries.js';

const OWN = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
const SUPPLIER = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b02';
const CUSTOMER = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b04';
const REPORT = 'a3b1f4a6-5f7c-4a0e-9f8f-1a2b3c4d5e6f';

describe.each(['interface-v1', 'mdlp'])('what clients of the real system write and read, by %s', (profile) => {
  let client: TestClient;
  let accepted: string;
  let shipped: string;
  let packed: string;
  let waiting: string;

  beforeAll(async () => {
    client = await TestClient.start({ profile, processingMs: 4_000 });
    accepted = (await client.process(doc.accept([pack(1), pack(2)]))).documentId;
    shipped = (await client.process(doc.moveOrder([pack(1)]))).documentId;
    const report = `</skzkm_origin_msg_id><skzkm_report_id>${REPORT}</skzkm_report_id>`;
    const ended = doc.endPacking([`${doc.GTIN}NEWLYMADE0001`]).replace('</skzkm_origin_msg_id>', report);
    packed = (await client.process(ended)).documentId;
    await client.control('POST', '/counterparties/ship', { from: 'supplier-a', to: PLACES.warehouse, count: 1 });
    await client.advance(300_000);
    waiting = (await client.send(doc.accept([pack(9)]))).json.document_id;
  });
  afterAll(() => client.stop());

  const ids = async (way: 'outcome' | 'income', filter: unknown): Promise<string[]> => {
    const { status, json } = await client.post(`/documents/${way}`, { filter }, await client.headers());
    expect(status).toBe(200);
    return json.documents.map((one: { document_id: string }) => one.document_id);
  };

  it('a document has its type and version from the first answer on: 0 and an empty text until it is read', async () => {
    expect((await client.get(`/documents/${waiting}`)).json).toMatchObject({ doc_type: 0, version: '', sys_id: OWN });
    expect((await client.get(`/documents/${accepted}`)).json).toMatchObject({ doc_type: 701, version: '1.38' });
    const requestId = randomUUID();
    const { json } = await client.send(doc.accept([pack(10)]), { requestId });
    const order = { document_id: json.document_id, request_id: requestId };
    expect((await client.post('/documents/cancel', order, await client.headers())).status).toBe(200);
    await client.advance(20_000);
    expect((await client.get(`/documents/${json.document_id}`)).json).toMatchObject({ doc_type: 0, version: '' });
  });

  it('of an incoming document sys_id is the receiver and sender_sys_id the sender', async () => {
    const { json } = await client.post('/documents/income', { filter: { doc_type: 601 } }, await client.headers());
    expect(json.documents).toMatchObject([
      { sys_id: OWN, sender_sys_id: SUPPLIER, sender: PLACES.supplier, receiver: PLACES.warehouse },
    ]);
  });

  it('sender_id and receiver_id are a place or a system id', async () => {
    for (const filter of [
      { receiver_id: PLACES.customer },
      { receiver_id: CUSTOMER.toUpperCase() },
      { sender_id: PLACES.warehouse, receiver_id: CUSTOMER },
      { sender_id: OWN, receiver_id: CUSTOMER },
    ])
      expect([filter, await ids('outcome', filter)]).toEqual([filter, [shipped]]);
    for (const filter of [{ sender_id: CUSTOMER }, { sender_id: PLACES.shop }, { receiver_id: randomUUID() }])
      expect([filter, await ids('outcome', filter)]).toEqual([filter, []]);
    const fromSupplier = await ids('income', { sender_id: PLACES.supplier });
    expect(fromSupplier).toHaveLength(1);
    expect(await ids('income', { sender_id: SUPPLIER, receiver_id: OWN })).toEqual(fromSupplier);
    expect(await ids('income', { receiver_id: PLACES.warehouse })).toEqual(fromSupplier);
    expect(await ids('income', { receiver_id: CUSTOMER })).toEqual([]);
  });

  it('skzkm_report_id finds the documents of a report, and their metadata name the device', async () => {
    expect(await ids('outcome', { skzkm_report_id: REPORT })).toEqual([packed]);
    expect(await ids('outcome', { skzkm_report_id: randomUUID() })).toEqual([]);
    expect((await client.get(`/documents/${packed}`)).json).toMatchObject({
      device_id: '0000000000000001',
      skzkm_report_id: REPORT,
    });
  });

  it.each([
    ['seven digits of a second', (iso: string) => iso.replace(/\.\d+Z/, '.9999999Z')],
    ['nine digits and no zone', (iso: string) => moscow(iso).replace(' ', 'T').replace(/\.\d+/, '.999999999')],
    ['a blank', (iso: string) => moscow(iso).slice(0, 19)],
    ['a zone without a colon', (iso: string) => `${moscow(iso).replace(' ', 'T')}+0300`],
  ])('dates are read with %s', async (_what, written) => {
    const { virtualMs } = (await client.control('GET', '/clock')).json;
    const at = (ms: number): string => written(new Date(virtualMs + ms).toISOString());
    const filter = { document_ids: [accepted], start_date: at(-600_000), end_date: at(1000) };
    expect(await ids('outcome', filter)).toEqual([accepted]);
    expect(await ids('outcome', { ...filter, start_date: at(1000) })).toEqual([]);
    const found = await list(client, '/reestr/sgtin/filter', {
      sgtin: pack(2),
      last_tracing_op_date_from: at(-600_000),
      last_tracing_op_date_to: at(1000),
    });
    expect(found.json.total).toBe(1);
  });

  it('an empty list is an empty filter, and names that hold nothing are none', async () => {
    const all = await ids('outcome', {});
    for (const filter of [[], null, { sender_id: null, doc_series: null, anything: '' }])
      expect(await ids('outcome', filter)).toEqual(all);
    const headers = await client.headers();
    for (const filter of [[], null, { anything: null }])
      expect((await client.post('/reestr/branches/filter', { filter }, headers)).json.total).toBe(4);
    for (const path of ['/documents/outcome', '/reestr/branches/filter'])
      expect((await client.post(path, { filter: ['x'] }, headers)).status).toBe(400);
    expect((await client.get('/documents/outcome?filter=%5B%5D')).json.documents).toHaveLength(all.length);
    expect((await client.get('/documents/outcome?filter=x')).status).toBe(400);
  });

  it('billing_info finds suspended packs by who paid', async () => {
    await plant(client, { gtin: doc.GTIN, prefix: 'PLANTED', from: 1, count: 2, series: 'P1' });
    await client.control('POST', '/suspensions', { gtin: doc.GTIN, batch: 'P1' });
    const held = async (billing: unknown) => list(client, '/reestr/sgtin/on_hold', { billing_info: billing });
    expect((await held({ is_paid: true, free_code: false, payments: null })).json).toMatchObject({
      total: 2,
      entries: [{ billing_info: { is_prepaid: false, free_code: false, is_paid: true, contains_vzn: false } }, {}],
    });
    expect((await held({ is_paid: false })).json.total).toBe(0);
    expect((await held('x')).status).toBe(400);
    expect((await held({ is_payd: true })).status).toBe(400);
  });

  it.each([
    ['GET', (id: string) => `//documents/${id}`],
    ['GET', (id: string) => `/documents//download/${id}/`],
    ['GET', (id: string) => `/documents/${id}//ticket//`],
    ['POST', () => '/documents/outcome/'],
  ])('a doubled or trailing slash changes nothing: %s %#', async (method, path) => {
    const url = `${client.sandbox.url}/api/v1${path(accepted)}`;
    const body = method === 'POST' ? { body: '{"filter": {}}' } : {};
    expect((await client.http(url, { method, headers: await client.headers(), ...body })).status).toBe(200);
  });

  it('a segment that is empty stands for no document', async () => {
    expect((await client.get('/documents//')).status).toBe(404);
    expect((await client.get('/documents//ticket')).status).toBe(404);
  });
});

/** As lists show it: `2026-11-22 01:30:15.250`. */
const moscow = (iso: string): string =>
  new Date(Date.parse(iso) + 3 * 3_600_000).toISOString().replace('T', ' ').replace('Z', '');
