import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack, packs, PLACES } from '../../test/documents.js';
import { documentOf, violationsOf } from '../../test/instance.js';

const MINUTE = 60_000;
interface Listed {
  document_id: string;
  request_id: string;
  doc_type: number;
  file_uploadtype: number;
  is_new?: boolean;
  [field: string]: unknown;
}

describe.each(['interface-v1', 'mdlp'])('simulated participants under the profile %s', (profile) => {
  let client: TestClient;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-others-'));
    client = await TestClient.start({ profile, dataDir: folder });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const knobs = (body: unknown) => client.control('POST', '/counterparties', body);
  const order = async (path: string, body: unknown) => {
    const answer = await client.control('POST', path, body);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('document_id')]);
    return answer.json as { document_id: string; request_id: string };
  };
  const list = async (which: 'income' | 'outcome', filter: Record<string, unknown> = {}): Promise<Listed[]> =>
    (await client.post(`/documents/${which}`, { filter, start_from: 0, count: 100 }, await client.headers())).json
      .documents;
  const xmlOf = async (documentId: string) =>
    (await client.get((await client.get(`/documents/download/${documentId}`)).json.link)).text;
  async function stock(from: number, count: number): Promise<string[]> {
    const ids = packs(from, count);
    expect(await client.process(doc.accept(ids))).toMatchObject({ result: 'Accepted' });
    return ids;
  }

  it('stay silent unless they are told otherwise', async () => {
    const [a] = (await stock(1, 1)) as [string];
    await client.process(doc.moveOrder([a]));
    await client.advance(5 * MINUTE);
    expect(await list('income')).toEqual([]);
    expect(await client.pack(a)).toMatchObject({ status: 'in_realization' });
  });

  it.each([
    [417, 'paused_circulation', 'paused_circulation', { turnover_type: '2' }],
    [472, 'in_circulation', 'in_circulation', {}],
    [471, 'in_circulation', 'in_circulation', {}],
    [351, 'marked', 'marked', {}],
  ])(
    'accept a %i of %s goods as they do a 415: 607 to us, and the goods are theirs, %s',
    async (docType, status, after, fields) => {
      await knobs({ accept: 1 });
      const sgtin = pack(70, 0, 'PLANT');
      await client.control('POST', '/plant', { packs: [{ sgtin, owner: 'own', place: PLACES.warehouse, status }] });
      const sides = { subject_id: 'own', receiver_id: 'customer-a' };
      expect(await client.process(documentOf(docType, { ...sides, ...fields, sgtin }))).toMatchObject({
        result: 'Accepted',
      });
      await client.advance(5 * MINUTE);
      expect((await list('income')).map((one) => one.doc_type)).toEqual([607]);
      expect(await client.pack(sgtin)).toMatchObject({ status: after, owner: 'customer-a', place: PLACES.customer });
    },
  );

  it('accept: 701 of theirs, 607 to us, and the goods are theirs', async () => {
    await knobs({ accept: 1 });
    const ids = await stock(1, 3);
    await client.process(doc.moveOrder([...ids, pack(9)]));
    await client.advance(5 * MINUTE);
    const [notice, ...more] = await list('income');
    expect(more).toEqual([]);
    expect(notice).toMatchObject({
      doc_type: 607,
      sender: PLACES.customer,
      receiver: PLACES.warehouse,
      is_new: true,
      sender_sys_id: expect.any(String),
    });
    const xml = await xmlOf(notice?.document_id ?? '');
    expect(violationsOf(xml)).toEqual([]);
    expect([...xml.matchAll(/<sgtin>(.*?)<\/sgtin>/g)].map(([, id]) => id)).toEqual(ids);
    expect(await client.pack(ids[0] as string)).toMatchObject({
      status: 'in_circulation',
      owner: 'customer-a',
      place: PLACES.customer,
    });
    expect(await list('income', { only_new: true })).toEqual([]);
    expect(await list('income')).toHaveLength(1);
    // The notification carries the request_id of the document that it tells about: their 701.
    const [theirs] = (await client.control('GET', `/truth/documents?request_id=${notice?.request_id}`)).json.documents;
    expect(theirs).toMatchObject({ doc_type: 701, account: null, result: 'Accepted' });
  });

  it('accept in part and refuse the rest: 607 and 606', async () => {
    await knobs({ part: 1 });
    const ids = await stock(1, 4);
    await client.process(doc.moveOrder(ids));
    await client.advance(5 * MINUTE);
    const notices = await list('income');
    expect(notices.map((one) => one.doc_type).sort()).toEqual([606, 607]);
    expect(violationsOf(await xmlOf(notices.find((one) => one.doc_type === 606)?.document_id ?? ''))).toEqual([]);
    const owners = await Promise.all(ids.map(async (id) => (await client.pack(id))['owner']));
    expect(owners).toEqual(['customer-a', 'own', 'customer-a', 'own']);
    expect(await client.pack(ids[1] as string)).toMatchObject({ status: 'in_circulation', transfer: null });
  });

  it('refuse: 252 of theirs, 606 to us, and the goods are ours to dispose of', async () => {
    await knobs({ refuse: 1 });
    const [a] = (await stock(1, 1)) as [string];
    await client.process(doc.moveOrder([a]));
    await client.advance(5 * MINUTE);
    expect((await list('income')).map((one) => one.doc_type)).toEqual([606]);
    expect(await client.process(doc.moveOrder([a]))).toMatchObject({ result: 'Accepted' });
  });

  it('ship to us: 601, and we accept or refuse; or they recall first: 605', async () => {
    const ship = async (count: number) => {
      const { request_id: requestId } = await order('/counterparties/ship', {
        from: 'supplier-a',
        to: PLACES.warehouse,
        count,
      });
      await client.advance(5 * MINUTE);
      const notice = (await list('income', { request_id: requestId }))[0] as Listed;
      expect(notice).toMatchObject({ doc_type: 601, sender: PLACES.supplier });
      const xml = await xmlOf(notice.document_id);
      expect(violationsOf(xml)).toEqual([]);
      return [...xml.matchAll(/<sgtin>(.*?)<\/sgtin>/g)].map(([, id]) => id as string);
    };
    const ids = await ship(3);
    expect(ids).toHaveLength(3);
    expect(await client.process(doc.accept(ids.slice(0, 2)))).toMatchObject({ result: 'Accepted' });
    expect(await client.process(doc.refuse(ids.slice(2)))).toMatchObject({ result: 'Accepted' });
    expect(await client.pack(ids[2] as string)).toMatchObject({ owner: 'supplier-a', status: 'in_circulation' });
    await knobs({ recall: 1 });
    const [recalled] = (await ship(1)) as [string];
    expect((await list('income')).map((one) => one.doc_type)).toContain(605);
    expect(await client.process(doc.accept([recalled]))).toMatchObject({
      result: 'Rejected',
      errors: [`16 ${recalled}`],
    });
  });

  it('ship a container, of which we see the content until they recall it', async () => {
    const sscc = '246000000000000017';
    const shipment = { from: 'supplier-a', to: PLACES.warehouse, count: 3, sscc };
    const { request_id: requestId } = await order('/counterparties/ship', shipment);
    await client.advance(5 * MINUTE);
    const [notice] = (await list('income', { request_id: requestId })) as [Listed];
    const xml = await xmlOf(notice.document_id);
    expect([xml.includes(`<sscc>${sscc}</sscc>`), xml.includes('<sgtin>')]).toEqual([true, false]);
    const content = async () => client.get(`/reestr/sscc/${sscc}/full-hierarchy`);
    const { down } = (await content()).json;
    expect([down.sscc, down.childs.length, down.childs[0].sgtin]).toEqual([sscc, 3, expect.any(String)]);
    const queries = [doc.queryItem('sscc_down', sscc), doc.queryHierarchy(sscc)];
    const answers = async () => Promise.all(queries.map(async (query) => (await client.process(query)).receipt ?? ''));
    const shows = (answer: string) => answer.includes(down.childs[0].sgtin);
    expect((await answers()).map(shows)).toEqual([true, true]);
    const recall = doc.recall([sscc], { subject: PLACES.supplier, receiver: PLACES.warehouse });
    await order('/counterparties/act', { from: 'supplier-a', xml: recall });
    await client.advance(5 * MINUTE);
    expect((await content()).status).toBe(403);
    queries.forEach((query, at) => (queries[at] = query.replace('<documents ', '<documents original_id="again" ')));
    expect((await answers()).map(shows)).toEqual([false, false]);
    expect((await client.control('POST', '/counterparties/ship', shipment)).status).toBe(400);
  });

  it('we recall what they have not accepted, once', async () => {
    const [a] = (await stock(1, 1)) as [string];
    await client.process(doc.moveOrder([a]));
    expect(await client.process(doc.recall([a]))).toMatchObject({ result: 'Accepted' });
    expect(await client.pack(a)).toMatchObject({ status: 'in_circulation', transfer: null });
    expect(await client.process(doc.recall([a]))).toMatchObject({ result: 'Rejected', errors: [`16 ${a}`] });
  });

  it('confirm our reverse order by 701, or refuse it by 251; what was wrong with it comes as 617', async () => {
    const planted = ['PLANT00000001', 'PLANT00000002'].map((serial) => doc.GTIN + serial) as [string, string];
    await client.control('POST', '/plant', {
      packs: planted.map((sgtin) => ({ sgtin, owner: 'supplier-a', place: PLACES.supplier })),
    });
    await knobs({ accept: 1 });
    const requestId = randomUUID();
    const sent = await client.send(doc.receiveOrder([planted[0], pack(8)]), { requestId });
    await client.advance(5 * MINUTE);
    const notices = await list('income');
    expect(notices.map((one) => one.doc_type).sort()).toEqual([607, 617]);
    const errors = notices.find((one) => one.doc_type === 617) as Listed;
    expect(errors.request_id).toBe(requestId);
    const xml = await xmlOf(errors.document_id);
    expect(violationsOf(xml)).toEqual([]);
    expect(xml).toContain(`<object_id>${pack(8)}</object_id>`);
    expect(await client.pack(planted[0])).toMatchObject({ owner: 'own', place: PLACES.warehouse });
    // The notification carries the request_id too, so the look-up shows it beside the document.
    const found = (await client.get(`/documents/request/${requestId}`)).json;
    expect([found.total, found.documents.map((one: Listed) => one.document_id).sort()]).toEqual([
      2,
      [sent.json.document_id, errors.document_id].sort(),
    ]);
    await knobs({ accept: 0, refuse: 1 });
    await client.process(doc.receiveOrder([planted[1]]));
    await client.advance(5 * MINUTE);
    expect((await list('income')).map((one) => one.doc_type).sort()).toEqual([605, 607, 617]);
    expect(await client.pack(planted[1])).toMatchObject({ owner: 'supplier-a', status: 'in_circulation' });
  });

  it('claim goods of ours by a reverse order: 602, and our 701 makes them theirs', async () => {
    const [a] = (await stock(1, 1)) as [string];
    await order('/counterparties/reverse', { by: 'customer-a', from: PLACES.warehouse, ids: [a] });
    await client.advance(5 * MINUTE);
    const [notice] = await list('income');
    expect(notice).toMatchObject({ doc_type: 602 });
    expect(violationsOf(await xmlOf(notice?.document_id ?? ''))).toEqual([]);
    expect(await client.process(doc.accept([a], { counterparty: PLACES.customer }))).toMatchObject({
      result: 'Accepted',
    });
    expect(await client.pack(a)).toMatchObject({ owner: 'customer-a', place: PLACES.customer });
  });

  it('are the same after a restart, and act once', async () => {
    await knobs({ accept: 1 });
    const ids = await stock(1, 2);
    await client.process(doc.moveOrder(ids));
    await order('/counterparties/ship', { from: 'supplier-b', to: PLACES.shop, count: 2 });
    const restart = async () => {
      await client.stop();
      client = await TestClient.start({ profile, dataDir: folder });
    };
    await restart();
    await client.advance(5 * MINUTE);
    const truth = async () => (await client.control('GET', '/truth/documents')).json;
    const before = { truth: await truth(), income: await list('income') };
    expect(before.income.map((one) => one.doc_type).sort()).toEqual([601, 607]);
    await xmlOf(before.income[0]?.document_id ?? '');
    await restart();
    expect(await truth()).toEqual(before.truth);
    expect((await list('income')).map((one) => [one.document_id, one.is_new])).toEqual(
      before.income.map((one, at) => [one.document_id, at > 0]),
    );
    expect(await list('income', { only_new: true })).toHaveLength(1);
  });

  it('documents that came past the API change packs and stand in the outgoing list with their channel', async () => {
    const [a, b, c, d] = (await stock(1, 4)) as [string, string, string, string];
    const fresh = `${doc.GTIN}OUTSIDE000001`;
    const body = (docType: number, sgtin: string) => documentOf(docType, { subject_id: PLACES.warehouse, sgtin });
    const planted: [string, string, number, number][] = [
      ['disposal_registrar', body(10531, a), 10531, 4],
      ['disposal_registrar', body(10521, b), 10521, 4],
      ['fiscal_operator', body(10511, c), 10511, 3],
      ['cabinet', doc.movePlace([d]), 431, 1],
      ['emission_registrar', doc.endPacking([fresh]), 10311, 0],
    ];
    for (const [via, xml] of planted) await order('/outside', { via, xml });
    await client.advance(MINUTE);
    const statuses = await Promise.all([a, b, c, d, fresh].map(async (id) => (await client.pack(id))['status']));
    expect(statuses).toEqual([
      'in_medical_use',
      'in_discount_prescription_sale',
      'in_sale',
      'in_circulation',
      'marked',
    ]);
    const listed = (await list('outcome')).filter((one) => one.file_uploadtype !== 2).reverse();
    expect(listed.map((one) => [one.doc_type, one.file_uploadtype])).toEqual(
      planted.map(([, , docType, uploadType]) => [docType, uploadType]),
    );
    expect(await list('outcome', { file_uploadtype: 3 })).toHaveLength(1);
  });

  it('say what is wrong with an order', async () => {
    for (const [path, body] of [
      ['/counterparties', { accept: 2 }],
      ['/counterparties', { unheard: 1 }],
      ['/counterparties/ship', { from: 'nobody', to: PLACES.shop }],
      ['/counterparties/ship', { from: 'supplier-a', to: 'nowhere' }],
      ['/counterparties/ship', { from: 'supplier-a', to: PLACES.shop, sscc: '17' }],
      ['/counterparties/reverse', { by: 'customer-a', from: PLACES.shop, ids: [] }],
      ['/counterparties/act', { from: 'supplier-a', xml: 'garbage' }],
      ['/outside', { via: 'pigeon', xml: doc.accept([pack(1)]) }],
    ] as [string, unknown][]) {
      expect((await client.control('POST', path, body)).status).toBe(400);
    }
  });
});

describe('a lively country', () => {
  it('trades by seed: the same day comes out the same', async () => {
    const day = async () => {
      const client = await TestClient.start({
        seed: 7,
        counterparties: { accept: 0.5, part: 0.2, refuse: 0.2, ship: 0.5, reverse: 0.5, recall: 0.5, delayMs: 1000 },
      });
      try {
        for (let i = 0; i < 8; i += 1) {
          const ids = packs(i * 10, 3);
          await client.send(doc.accept(ids), { requestId: fixedId(2 * i) });
          await client.advance(5000);
          await client.send(doc.moveOrder(ids), { requestId: fixedId(2 * i + 1) });
          await client.advance(5000);
        }
        await client.advance(100_000);
        const { documents } = (await client.control('GET', '/truth/documents')).json;
        return documents.map((one: Listed) => [one.doc_type, one['result'], one['receiver']]);
      } finally {
        await client.stop();
      }
    };
    const first = await day();
    expect(await day()).toEqual(first);
    const types = new Set(first.map(([docType]: [number]) => docType));
    for (const docType of [416, 415, 601, 602, 607]) expect(types).toContain(docType);
  });
});

const fixedId = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
