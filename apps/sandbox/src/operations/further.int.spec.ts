import { createHash, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';
import { signAs } from '../../test/signer.js';

const SUPPLIER = { systemId: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b02', inn: '7702234502' };
const CUSTOMER = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b04';

describe.each(['interface-v1', 'mdlp'])('routes beside those of the profile %s', (profile) => {
  let client: TestClient;
  let folder: TemporaryFolder;
  beforeEach(async () => {
    folder = await temporaryFolder();
    client = await TestClient.start({ profile, dataDir: folder.path });
  });
  afterEach(async () => {
    await client.stop();
    await folder.remove();
  });
  const restart = async (): Promise<void> => {
    await client.stop();
    client = await TestClient.start({ profile, dataDir: folder.path });
  };
  const post = async (path: string, body: unknown = {}): Promise<HttpAnswer> =>
    client.post(path, body, await client.headers());
  const ids = ({ json }: HttpAnswer): string[] => json.entries.map((one: { id: string }) => one.id);

  it('mark incoming documents as read', async () => {
    const { json } = await client.control('POST', '/incoming', {
      from: 'supplier-a',
      to: 'own',
      xml: doc.accept([pack(1)]),
    });
    const sent = await client.send(doc.accept([pack(2)]));
    const isNew = async () => (await post('/documents/income', { filter: {} })).json.documents[0].is_new;
    expect(await isNew()).toBe(true);
    const document_ids = [json.document_id, sent.json.document_id, randomUUID()];
    const marked = { marked_document_ids: [json.document_id], total: 1 };
    expect((await post('/documents/income/mark_read', { document_ids })).json).toEqual(marked);
    expect(await isNew()).toBe(false);
    await restart();
    expect(await isNew()).toBe(false);
    for (const wrong of [{}, { document_ids: [] }, { document_ids: Array.from({ length: 101 }, () => randomUUID()) }])
      expect((await post('/documents/income/mark_read', wrong)).status).toBe(400);
  });

  it('give the signature of a document back, to who takes text', async () => {
    const xml = doc.accept([pack(1)]);
    const sign = signAs('main', Buffer.from(xml));
    const { json } = await client.send(xml, { fields: { sign } });
    const signature = async (accept: string, id = json.document_id) =>
      client.http(`${client.sandbox.url}/api/v1/documents/${id}/signature`, {
        headers: { ...(await client.headers()), accept },
      });
    await client.advance();
    await restart();
    expect(await signature('text/plain')).toMatchObject({ status: 200, text: sign });
    expect(await signature('application/json')).toMatchObject({ status: 406 });
    expect(await signature('text/plain', randomUUID())).toMatchObject({ status: 404 });
  });

  it('give the signature of an uploaded document back', async () => {
    const xml = Buffer.from(doc.accept([pack(1)]));
    const sign = signAs('main', xml);
    const hash_sum = createHash('sha256').update(xml).digest('hex');
    const { json } = await post('/documents/send_large', { sign, hash_sum, request_id: randomUUID() });
    const part = { method: 'PUT', body: new Uint8Array(xml), headers: await client.headers() };
    await client.http(json.link, part);
    expect((await post('/documents/send_finished', { document_id: json.document_id })).status).toBe(200);
    await client.advance();
    expect((await client.get(`/documents/${json.document_id}/signature`)).text).toBe(sign);
  });

  it('tell which packs and containers there are', async () => {
    const sgtins = [pack(1), 'short', `${doc.GTIN}UNKNOWN000000`];
    expect((await post('/sgtin/validate', { sgtins })).json.entries).toEqual([
      { sgtin: pack(1), valid: true, found: true },
      { sgtin: 'short', valid: false, found: false },
      { sgtin: sgtins[2], valid: true, found: false },
    ]);
    const sscc = '046000000000000017';
    await client.control('POST', '/plant', {
      packs: [{ sgtin: pack(1), owner: 'own', place: doc.PLACES.warehouse, sscc }],
    });
    expect((await post('/reestr/sscc/sscc_check', { sscc: [sscc, '046000000000000024'] })).json.entries).toEqual([
      { sscc, found: true },
      { sscc: '046000000000000024', found: false },
    ]);
    expect((await post('/sgtin/validate', { sgtins: [] })).status).toBe(400);
  });

  it('keep trusted partners, over a restart; adding and deleting again changes nothing', async () => {
    const change = async (verb: string, ...trusted_partners: string[]) =>
      (await post(`/reestr/trusted_partners/${verb}`, { trusted_partners })).json;
    const trusted = async (filter = {}) =>
      (await post('/reestr/trusted_partners/filter', { filter })).json.entries.map(
        (one: { trusted_inn: string }) => one.trusted_inn,
      );
    expect(await change('add', SUPPLIER.systemId, CUSTOMER)).toEqual({ code: 0 });
    expect(await change('add', SUPPLIER.inn)).toEqual({ code: 0 });
    expect(await change('add', 'nobody')).toEqual({ code: 2, failed_partners: ['nobody'] });
    await restart();
    expect(await trusted()).toEqual([SUPPLIER.inn, '5004234504']);
    expect(await trusted({ trusted_sys_id: CUSTOMER })).toEqual(['5004234504']);
    expect(await change('delete', CUSTOMER)).toEqual({ code: 0 });
    expect(await change('delete', CUSTOMER)).toEqual({ code: 0 });
    await restart();
    expect(await trusted()).toEqual([SUPPLIER.inn]);
  });

  it('give places and warehouses, own ones and those of all', async () => {
    expect((await client.get('/reestr/branches/00000000100103')).json).toMatchObject({
      branch_id: '00000000100103',
      has_pharm_license: true,
      address: expect.any(Object),
    });
    expect((await client.get('/reestr/branches/00000000200101')).status).toBe(404);
    const all = await post('/reestr/branches/public/filter');
    expect(ids(all)).toEqual(expect.arrayContaining(['00000000100101', '00000000200101', '00000000300201']));
    expect(ids(await post('/reestr/branches/public/filter', { filter: { inn: SUPPLIER.inn } }))).toEqual([
      '00000000200101',
    ]);
    expect(ids(await post('/reestr/branches/public/filter', { filter: { has_pharm_license: true } }))).toEqual([
      '00000000100103',
      '00000000100104',
    ]);
    expect((await post('/reestr/branches/public/filter', { filter: { nonsense: 1 } })).status).toBe(400);
    expect(ids(await post('/reestr/warehouses/filter'))).toEqual(['00000000100901']);
    expect(ids(await post('/reestr/warehouses/public/filter', { filter: { inn: SUPPLIER.inn } }))).toEqual([
      '00000000200191',
    ]);
    expect((await client.get('/reestr/warehouses/00000000100901')).json).toMatchObject({ branch_id: '00000000100901' });
    expect((await post('/reestr/warehouses/available_safe_warehouses_addresses')).json).toMatchObject({
      entries: [{ address_id: '00000000100901', address: expect.any(Object) }],
      total: 1,
    });
  });

  it('give products: those that the caller makes, and any by its GTIN', async () => {
    expect((await post('/reestr/med_products/current')).json).toMatchObject({ entries: [], total: 0 });
    const maker = { clientId: 'c', clientSecret: 's', userId: 'maker', password: 'secret' };
    await client.control('POST', '/accounts', { name: 'maker', participant: 'supplier-a', ...maker });
    const token = await passwordToken('maker');
    const products = await client.post('/reestr/med_products/current', {}, token);
    expect(products.json.entries.map((one: { gtin: string }) => one.gtin)).toEqual([
      '04600000000015',
      '04600000000022',
    ]);
    expect((await client.get('/reestr/med_products/public/04600000000039')).json).toMatchObject({
      gtin: '04600000000039',
    });
    expect((await client.get('/reestr/med_products/public/04600000009999')).status).toBe(404);
  });

  async function passwordToken(userId: string): Promise<Record<string, string>> {
    const signIn = { client_id: 'c', client_secret: 's', user_id: userId, auth_type: 'PASSWORD' };
    const { json } = await client.post('/auth', signIn);
    const token = await client.post('/token', { code: json.code, password: 'secret' });
    return { authorization: `token ${token.json.token}` };
  }

  it('tell the caller who he is, for whom he acts and what he may', async () => {
    expect((await client.get('/users/current')).json.user).toMatchObject({ login: 'main', first_name: 'Anna' });
    expect((await client.get('/members/current')).json).toMatchObject({
      inn: '7701234501',
      org_name: 'Severny Sklad (sample distributor)',
    });
    const about = (await client.get('/rights/about')).json.rights.map((one: { right: string }) => one.right);
    expect((await client.get('/rights/current')).json.rights).toEqual(about);
  });

  it('are refused with 403 to a user who lacks the right, over a restart, until he has it', async () => {
    const sent = await client.send(doc.accept([pack(1)]));
    const allow = (rights: unknown, name = 'main') => client.control('POST', '/accounts/rights', { name, rights });
    expect((await allow(['INCOME_LIST', 'OUTCOME_LIST'])).status).toBe(200);
    await restart();
    expect((await client.get('/rights/current')).json.rights).toEqual(['INCOME_LIST', 'OUTCOME_LIST']);
    const refusal = {
      status: 403,
      json: { error_description: 'Error during operation: the right UPLOAD_DOCUMENT is missing' },
    };
    expect(await client.send(doc.accept([pack(2)]))).toMatchObject(refusal);
    expect((await client.get(`/documents/${sent.json.document_id}/ticket`)).status).toBe(403);
    expect((await client.get(`/documents/download/${sent.json.document_id}`)).status).toBe(403);
    expect((await post('/reestr/sgtin/filter')).status).toBe(403);
    expect((await post('/reestr_partners/filter')).status).toBe(403);
    expect((await post('/documents/income')).status).toBe(200);
    expect((await client.send(doc.accept([pack(3)]), { account: 'north' })).status).toBe(200);
    await allow(['UPLOAD_DOCUMENT']);
    expect((await client.send(doc.accept([pack(4)]))).status).toBe(200);
    expect((await post('/documents/income')).status).toBe(403);
    expect((await allow(['FLY'])).json.error_description).toContain('UPLOAD_DOCUMENT, DOWNLOAD_DOCUMENT');
    expect((await allow([], 'nobody')).json.error_description).toContain('known are main, north, south, retail');
  });
});
