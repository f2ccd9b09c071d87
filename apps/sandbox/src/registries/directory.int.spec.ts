import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestClient } from '../../test/client.js';
import { PLACES } from '../../test/documents.js';
import { list } from '../../test/registries.js';

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe.each(['interface-v1', 'mdlp'])('users, branches, partners and products, by %s', (profile) => {
  let client: TestClient;

  beforeAll(async () => {
    client = await TestClient.start({ profile });
  });
  afterAll(() => client.stop());

  it('finds users', async () => {
    const all = (await list(client, '/users/filter')).json;
    expect([all.total, all.users.map((one: { login: string }) => one.login)]).toEqual([
      4,
      ['main', 'north', 'south', 'retail'],
    ]);
    expect(all.users[0]).toMatchObject({
      user_id: '08c640a17b09bdf9174efa69e64c8c11ee1f2e6f',
      first_name: 'Anna',
      last_name: 'Severnaya',
      status: 'ACTIVE',
      is_admin: true,
    });
    expect((await list(client, '/users/filter', { last_name: 'yuzhn' })).json.users).toMatchObject([
      { login: 'south' },
    ]);
    expect((await list(client, '/users/filter', { is_admin: false }, { start_from: 1, count: 1 })).json).toMatchObject({
      total: 3,
      users: [{ login: 'south' }],
    });
    expect((await list(client, '/users/filter', { statuses: ['BLOCKED'] })).json).toEqual({ users: [], total: 0 });
  });

  it('tells of a user who is blocked, until he is let in again', async () => {
    const withStatus = async (...statuses: string[]) =>
      (await list(client, '/users/filter', { statuses })).json.users.map(
        (one: { login: string; status: string }) => `${one.login} ${one.status}`,
      );
    await client.control('POST', '/accounts/block', { name: 'south' });
    expect(await withStatus('BLOCKED')).toEqual(['south BLOCKED']);
    expect(await withStatus('ACTIVE')).not.toContain('south ACTIVE');
    expect(await withStatus('ACTIVE', 'BLOCKED')).toHaveLength(4);
    await client.control('POST', '/accounts/block', { name: 'south', blocked: false });
    expect(await withStatus('BLOCKED')).toEqual([]);
  });

  it('finds branches', async () => {
    const all = (await list(client, '/reestr/branches/filter')).json;
    expect([all.total, all.entries[0]]).toMatchObject([
      4,
      {
        id: PLACES.warehouse,
        status: 1,
        org_name: 'Severny Sklad (sample distributor)',
        address: { address_description: expect.any(String) },
      },
    ]);
    expect(
      (await list(client, '/reestr/branches/filter', { has_pharm_license: true })).json.entries.map(
        (one: { id: string }) => one.id,
      ),
    ).toEqual(['00000000100103', '00000000100104']);
    expect((await list(client, '/reestr/branches/filter', { branch_id: PLACES.shop })).json.total).toBe(1);
    expect((await list(client, '/reestr/branches/filter', { branch_id: PLACES.customer })).json.total).toBe(0);
  });

  it('finds partners, in the spelling of the real system, and only when told which kind', async () => {
    const { json } = await list(client, '/reestr_partners/filter', { reg_entity_type: 1 });
    expect(json.filtered_records_count).toBe(4);
    expect(json.filtered_records[0]).toMatchObject({
      ORG_NAME: 'Alfa Pharm (manufacturer)',
      inn: '7702234502',
      reg_entity_type: 1,
      entity_type: 1,
      country_code: 'RU',
      federal_subject_code: '77',
      op_date: { $date: '2020-01-01T00:00:00Z' },
      op_exec_date: '2020-01-01T00:00:00Z',
    });
    const { branches: places, safe_warehouses: warehouses } = json.filtered_records[0];
    for (const [[place], id] of [
      [places, '00000000200101'],
      [warehouses, '00000000200191'],
    ]) {
      expect(place).toEqual({
        id,
        address_fias: { aoguid: expect.stringMatching(GUID), houseguid: expect.stringMatching(GUID), room: '' },
        address_resolved: {
          code: 0,
          houseguid: place.address_fias.houseguid,
          address: 'Moscow, Zavodskaya st., 2',
        },
        status: 1,
      });
    }
    expect(
      (await list(client, '/reestr_partners/filter', { reg_entity_type: 1, org_name: 'pharm' })).json
        .filtered_records_count,
    ).toBe(2);
    expect((await list(client, '/reestr_partners/filter', { reg_entity_type: 3 })).json).toEqual({
      filtered_records: [],
      filtered_records_count: 0,
    });
    expect((await list(client, '/reestr_partners/filter', {})).status).toBe(400);
  });

  it.each([
    [{ federal_subject_code: '78' }, ['Beta Med (manufacturer)']],
    [{ federal_district_code: '5' }, ['Regional Hospital']],
    [{ federal_subject_code: '77', federal_district_code: '2' }, []],
    [{ op_exec_date_start: '2020-01-01T00:00:00.0000000Z', inn: '5004234504' }, ['City Pharmacy']],
    [{ op_exec_date_start: '2020-01-01T03:00:01', inn: '5004234504' }, []],
    [{ op_exec_date_end: '2019-12-31 23:59:59', inn: '5004234504' }, []],
    [{ full: true, inn: '5004234504', itin: null, anything: '' }, ['City Pharmacy']],
  ])('finds partners by %j', async (filter, names) => {
    const { json } = await list(client, '/reestr_partners/filter', { reg_entity_type: 1, ...filter });
    expect(json.filtered_records.map((one: { ORG_NAME: string }) => one.ORG_NAME)).toEqual(names);
  });

  it('finds branches by where they are', async () => {
    const found = async (filter: object) => (await list(client, '/reestr/branches/filter', { ...filter })).json;
    const { entries } = await found({ federal_subject_code: '77', federal_district_code: '1' });
    expect(entries).toHaveLength(4);
    expect(entries[0]).toMatchObject({ federal_subject_code: '77', federal_subject_name: 'Москва' });
    const { houseguid } = entries[2].address;
    expect((await found({ houseguid })).entries).toMatchObject([{ id: PLACES.shop }]);
    for (const filter of [{ federal_subject_code: '78' }, { federal_district_code: '2' }, { houseguid: 'x' }])
      expect((await found(filter)).total).toBe(0);
  });

  it('finds products by their names of today', async () => {
    const all = (await list(client, '/reestr/med_products/public/filter', {}, { count: 3 })).json;
    expect([all.total, all.entries.length, all.entries[0].prod_sell_name]).toEqual([4, 3, 'Paracetamol-A 500 mg N20']);
    expect(
      (await list(client, '/reestr/med_products/public/filter', { prod_sell_name: 'insulin' })).json.entries,
    ).toMatchObject([{ gtin: '04600000000046', reg_holder: 'Beta Med (manufacturer)' }]);
    expect((await list(client, '/reestr/med_products/public/filter', { prod_desc_label: 'x' })).status).toBe(400);
    expect(all.entries[0]).toMatchObject({ prod_pack_1_name: 'blister', prod_pack_1_ed: '10' });
    expect((await client.get('/reestr/med_products/04600000000046')).json).toMatchObject({
      prod_sell_name: 'Insulin-B 100 IU/ml N5',
    });
    expect((await client.get('/reestr/med_products/04600000009999')).status).toBe(404);
  });

  it('serves deprecated methods, says that they are, and counts a violation', async () => {
    await client.control('DELETE', '/violations');
    const found = await client.post('/users/find', { filter: { last_name: 'Severny' } }, await client.headers());
    expect([found.status, found.json.total, found.headers.get('deprecation')]).toEqual([200, 1, '@1704067200']);
    expect(found.headers.get('link')).toBe('</api/v1/users/filter>; rel="successor-version"');
    const branches = await client.get('/reestr/branches?count=2');
    expect([branches.json.total, branches.json.entries.length, branches.headers.get('deprecation')]).toEqual([
      4,
      2,
      '@1704067200',
    ]);
    expect((await list(client, '/users/filter')).headers.get('deprecation')).toBeNull();
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ deprecated_method: 2 });
  });
});

describe('limits', () => {
  it('hold for these operations as for others, each method by itself', async () => {
    const client = await TestClient.start({ limits: true, intervalMs: 60_000 });
    try {
      const headers = await client.headers();
      const call = async (path: string) => (await client.post(path, { filter: {} }, headers)).status;
      expect([
        await call('/users/filter'),
        await call('/users/filter'),
        await call('/reestr/branches/filter'),
        await call('/users/find'),
        await call('/users/find'),
      ]).toEqual([200, 429, 200, 200, 429]);
      expect((await client.control('GET', '/violations')).json.byRule).toMatchObject({ call_interval: 2 });
    } finally {
      await client.stop();
    }
  });
});
