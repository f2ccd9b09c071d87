import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#kernel';
import { answer, ScriptedCaller, type Asked } from '../../test/scripted-caller.js';
import { BUILT_IN_PROFILES, loadProfile } from '../profile.js';
import { RegistryOperations } from './operations.js';

const SGTIN = '04600000000015ABCDEFGHJKLMN';
const SSCC = '046000000000000018';
const PAGE = { start_from: 0, count: 100 };
const from = new Date('2026-11-20T21:00:00Z');

/** What is done, what then goes out (under /api/v1), what comes, and what is read of it. */
interface Case {
  run: (operations: RegistryOperations) => Promise<unknown>;
  asked: Omit<Asked, 'account' | 'operation'>;
  came: JsonObject | string;
  read: unknown;
}
const page = (
  run: Case['run'],
  asked: Omit<Asked, 'account' | 'operation'>,
  entry: { came: JsonObject; read: object; entries?: string; total?: string },
): Case => ({
  run,
  asked,
  came: { [entry.entries ?? 'entries']: [entry.came], [entry.total ?? 'total']: 7 },
  read: { items: [{ ...entry.read, fields: entry.came }], total: 7 },
});
const post = (path: string, body: unknown): Case['asked'] => ({ method: 'POST', path, body });
const get = (path: string): Case['asked'] => ({ method: 'GET', path });

const CASES: Record<string, Case> = {
  users: page(
    (o) => o.lists.page('a', 'users', { filter: { lastName: 'Petrova', statuses: ['ACTIVE'] } }),
    post('/users/filter', { filter: { last_name: 'Petrova', statuses: ['ACTIVE'] }, ...PAGE }),
    {
      entries: 'users',
      came: { user_id: 'u1', last_name: 'Petrova', status: 'BLOCKED', is_admin: false },
      read: { userId: 'u1', lastName: 'Petrova', status: 'BLOCKED', isAdmin: false },
    },
  ),
  branches: page(
    (o) => o.lists.page('a', 'branches', { filter: { from }, offset: 200, limit: 50 }),
    post('/reestr/branches/filter', { filter: { start_date: '2026-11-20T21:00:00Z' }, start_from: 200, count: 50 }),
    {
      came: { id: '00000000100101', org_name: 'Shop', status: 1, registration_date: '2020-04-07 07:55:33' },
      read: { branchId: '00000000100101', name: 'Shop', status: '1', registeredAt: '2020-04-07T04:55:33.000Z' },
    },
  ),
  'partners, in capitals and with dates of a database': page(
    (o) => o.lists.page('a', 'partners', { filter: { inn: '7700000000', entityType: 1 } }),
    post('/reestr_partners/filter', { filter: { inn: '7700000000', reg_entity_type: 1 }, ...PAGE }),
    {
      entries: 'filtered_records',
      total: 'filtered_records_count',
      came: { system_subj_id: 'p', ORG_NAME: 'Alfa', KPP: '1', OGRN: '2', op_date: { $date: '2021-01-02T03:04:05Z' } },
      read: { systemSubjectId: 'p', name: 'Alfa', kpp: '1', ogrn: '2', changedAt: '2021-01-02T03:04:05.000Z' },
    },
  ),
  products: page(
    (o) => o.lists.page('a', 'products', { filter: { prodSellName: 'Para' } }),
    post('/reestr/med_products/public/filter', { filter: { prod_sell_name: 'Para' }, ...PAGE }),
    {
      came: { gtin: '04600000000015', prod_sell_name: 'Paracetamol', prod_desc_label: 'old' },
      read: { gtin: '04600000000015', prodSellName: 'Paracetamol' },
    },
  ),
  'one product, with the old name alone': {
    run: (o) => o.sgtins.product('a', '04600000000015'),
    asked: get('/reestr/med_products/04600000000015'),
    came: { gtin: '04600000000015', prod_desc_label: 'Paracetamol' },
    read: {
      gtin: '04600000000015',
      prodSellName: 'Paracetamol',
      fields: { gtin: '04600000000015', prod_desc_label: 'Paracetamol' },
    },
  },
  'sgtins, of a status that nobody knows': page(
    (o) =>
      o.lists.page('a', 'sgtins', {
        filter: { gtin: '04600000000015', series: 'A1', status: ['in_sale'], movedFrom: from },
      }),
    post('/reestr/sgtin/filter', {
      filter: {
        gtin: '04600000000015',
        batch: 'A1',
        status: ['in_sale'],
        last_tracing_op_date_from: '2026-11-20T21:00:00Z',
      },
      ...PAGE,
    }),
    {
      came: { sgtin: SGTIN, status: 'beamed_up', batch: 'A1', pack3_id: SSCC, sell_name: 'P' },
      read: { sgtin: SGTIN, status: 'beamed_up', series: 'A1', sscc: SSCC, prodSellName: 'P' },
    },
  ),
  'sgtin_documents in the query': page(
    (o) => o.lists.page('a', 'sgtin_documents', { filter: { sgtin: SGTIN } }),
    get(`/reestr/sgtin/documents?sgtin=${SGTIN}&start_from=0&count=100`),
    {
      came: { document_id: 'd', doc_type: 415, doc_num: 'A\\1', date: '2026-11-20T21:00:00Z' },
      read: { documentId: 'd', docType: 415, docNum: 'A\\1', receivedAt: '2026-11-20T21:00:00.000Z' },
    },
  ),
  archived_sgtin_documents: page(
    (o) => o.lists.page('a', 'archived_sgtin_documents', { filter: { sgtin: SGTIN } }),
    get(`/reestr/sgtin/archive/documents?sgtin=${SGTIN}&start_from=0&count=100`),
    {
      came: { document_id: 'd', sscc: SSCC },
      read: { documentId: 'd', sscc: SSCC },
    },
  ),
  suspended_sgtins: page(
    (o) => o.lists.page('a', 'suspended_sgtins', { filter: { gtin: '04600000000015', series: 'A1' } }),
    post('/reestr/sgtin/on_hold', { filter: { gtin: '04600000000015', batch: 'A1' }, ...PAGE }),
    {
      came: { sgtin: SGTIN, status: 'paused_circulation', halt_id: 'h', halt_doc_num: '1-2' },
      read: { sgtin: SGTIN, status: 'paused_circulation', haltId: 'h', haltNumber: '1-2' },
    },
  ),
  suspension_decisions: page(
    (o) => o.lists.page('a', 'suspension_decisions', { filter: { haltType: 0, haltedFrom: from } }),
    post('/reestr/paused-circulation-decisions/filter', {
      filter: { halt_type: 0, start_halt_date: '2026-11-20T21:00:00Z' },
      ...PAGE,
    }),
    {
      came: { halt_id: 'h', halt_type: 0, halt_date: '2026-11-20', batch: 'A1', sgtin_count: 3 },
      read: { haltId: 'h', haltType: 0, haltedAt: '2026-11-19T21:00:00.000Z', series: 'A1', sgtinCount: 3 },
    },
  ),
  'suspension_decision_sgtins, which have no filter': page(
    (o) => o.lists.page('a', 'suspension_decision_sgtins', { path: { halt_id: 'h/1' } }),
    post('/reestr/paused-circulation-decisions/h%2F1/sgtins/filter', PAGE),
    {
      came: { sgtin: SGTIN, owner_id: null, owner_name: '' },
      read: { sgtin: SGTIN },
    },
  ),
  sscc_sgtins: page(
    (o) => o.lists.page('a', 'sscc_sgtins', { path: { sscc: SSCC } }),
    post(`/reestr/sscc/${SSCC}/sgtins`, PAGE),
    { came: { sgtin: SGTIN }, read: { sgtin: SGTIN } },
  ),
  virtual_storage: page(
    (o) => o.lists.page('a', 'virtual_storage', { filter: { storageId: 's' } }),
    post('/reestr/virtual-storage/filter', { filter: { storage_id: 's' }, ...PAGE }),
    {
      came: { storage_id: 's', gtin: 'g', opening_balance: 5, total_outcome: '2', ending_balance: 3 },
      read: { storageId: 's', gtin: 'g', opening: 5, outcome: 2, ending: 3 },
    },
  ),
  'sales_awaiting, whose dates have no time': page(
    (o) => o.lists.page('a', 'sales_awaiting', { filter: { branchId: 'b', from } }),
    post('/reestr/sgtin/kkt/awaiting-withdrawal/filter', {
      filter: { branch_id: 'b', op_start_date: '2026-11-21' },
      ...PAGE,
    }),
    {
      came: { sgtin: SGTIN, sold_type: 0, status: 3, price: 12.5, xml_document_id: 'd' },
      read: { sgtin: SGTIN, soldType: '0', status: '3', price: '12.50', documentId: 'd' },
    },
  ),
  disposals_awaiting: page(
    (o) => o.lists.page('a', 'disposals_awaiting'),
    post('/reestr/sgtin/device/awaiting-withdrawal/filter', { filter: {}, ...PAGE }),
    {
      came: { sgtin: SGTIN, xml_document_type: 10531 },
      read: { sgtin: SGTIN, documentType: '10531' },
    },
  ),
  'export_results by whole pages, with a repeated key': page(
    (o) => o.lists.page('a', 'export_results', { filter: { taskIds: ['t1', 't2'] }, offset: 1000 }),
    get('/data/export/results?task_ids=t1&task_ids=t2&page=1&size=1000'),
    {
      entries: 'list',
      total: 'total_count',
      came: { result_id: 'r', available: 'AVAILABLE' },
      read: { resultId: 'r', available: 'AVAILABLE' },
    },
  ),
  'a list of one that comes as the bare object, its total in quotes': {
    run: (o) => o.lists.page('a', 'sgtins'),
    asked: post('/reestr/sgtin/filter', { filter: {}, ...PAGE }),
    came: { entries: { sgtin: SGTIN }, total: '1' },
    read: { items: [{ sgtin: SGTIN, fields: { sgtin: SGTIN } }], total: 1 },
  },
  sgtins_by_list: {
    run: (o) => o.sgtins.byList('a', [SGTIN, 'none', 'theirs', 'odd', 'lost']),
    asked: post('/reestr/sgtin/sgtins-by-list', { filter: { sgtins: [SGTIN, 'none', 'theirs', 'odd', 'lost'] } }),
    came: {
      total: 5,
      failed: 3,
      entries: [{ sgtin: SGTIN }],
      failed_entries: [
        { sgtin: 'none', error_code: 2, error_desc: 'no such' },
        { sgtin: 'theirs', error_code: 4 },
        { sgtin: 'odd', error_code: 99 },
      ],
    },
    read: {
      found: [{ sgtin: SGTIN, fields: { sgtin: SGTIN } }],
      failed: [
        { sgtin: 'none', reason: 'not_found', code: '2', text: 'no such' },
        { sgtin: 'theirs', reason: 'access_denied', code: '4' },
        { sgtin: 'odd', reason: 'other', code: '99' },
      ],
      unanswered: ['lost'],
    },
  },
  public_sgtins_by_list: {
    run: (o) => o.sgtins.byList('a', [SGTIN, 'none'], 'public_sgtins_by_list'),
    asked: post('/reestr/sgtin/public/sgtins-by-list', { filter: { sgtins: [SGTIN, 'none'] } }),
    came: { total: 2, failed: 1, entries: { sgtin: SGTIN }, failed_entries: 'none' },
    read: {
      found: [{ sgtin: SGTIN, fields: { sgtin: SGTIN } }],
      failed: [{ sgtin: 'none', reason: 'not_told' }],
      unanswered: [],
    },
  },
  archived_sgtins_by_list: {
    run: (o) => o.sgtins.byList('a', [SGTIN], 'archived_sgtins_by_list'),
    asked: post('/reestr/sgtin/public/archive/sgtins-by-list', { filter: { sgtins: [SGTIN] } }),
    came: { total: 1, failed: 0, entries: [{ sgtin: SGTIN, status: 'in_sale' }] },
    read: {
      found: [{ sgtin: SGTIN, status: 'in_sale', fields: { sgtin: SGTIN, status: 'in_sale' } }],
      failed: [],
      unanswered: [],
    },
  },
  sgtin: {
    run: (o) => o.sgtins.one('a', SGTIN),
    asked: get(`/reestr/sgtin/${SGTIN}`),
    came: { sgtin_info: { sgtin: SGTIN }, gtin_info: { gtin: 'g', prod_sell_name: 'P' } },
    read: {
      sgtin: { sgtin: SGTIN, fields: { sgtin: SGTIN } },
      product: { gtin: 'g', prodSellName: 'P', fields: { gtin: 'g', prod_sell_name: 'P' } },
    },
  },
  archived_sgtin: {
    run: (o) => o.sgtins.one('a', SGTIN, 'archived_sgtin'),
    asked: get(`/reestr/sgtin/archive/${SGTIN}`),
    came: { sgtin_info: { sgtin: SGTIN } },
    read: { sgtin: { sgtin: SGTIN, fields: { sgtin: SGTIN } } },
  },
  sscc_hierarchy: {
    run: (o) => o.ssccs.hierarchy('a', SSCC),
    asked: get(`/reestr/sscc/${SSCC}/hierarchy`),
    came: { up: [{ sscc: SSCC, release_date: '2026-11-21T00:00:00Z' }], down: [] },
    read: {
      up: [
        {
          sscc: SSCC,
          packedAt: '2026-11-21T00:00:00.000Z',
          fields: { sscc: SSCC, release_date: '2026-11-21T00:00:00Z' },
        },
      ],
      down: [],
    },
  },
  document_size: {
    run: (o) => o.largeDocuments.sizeLimit('a'),
    asked: get('/documents/doc_size'),
    came: { doc_size: 1_048_576 },
    read: { maxBytes: 1_048_576 },
  },
  cancel: {
    run: (o) => o.largeDocuments.cancel('a', { documentId: 'd', requestId: 'r' }),
    asked: post('/documents/cancel', { document_id: 'd', request_id: 'r' }),
    came: '',
    read: null,
  },
  group_check: {
    run: (o) => o.groups.check('a', ['r1', 'r2']),
    asked: post('/documents/bulk/check', { request_ids: ['r1', 'r2'] }),
    came: { can_start: true },
    read: { canStart: true },
  },
  'group_check that says no': {
    run: (o) => o.groups.check('a', ['r1']),
    asked: post('/documents/bulk/check', { request_ids: ['r1'] }),
    came: { can_start: false, error_description: 'r1: not uploaded' },
    read: { canStart: false, reason: 'r1: not uploaded' },
  },
  group_start: {
    run: (o) => o.groups.start('a', ['r1', 'r2']),
    asked: post('/documents/bulk', { request_ids: ['r1', 'r2'] }),
    came: { documents: [] },
    read: null,
  },
  export_create: {
    run: (o) => o.exports.create('a', { reportId: 'GENERAL_REPORT_ON_REMAINING_ITEMS', params: { month: 1 } }),
    asked: post('/data/export/tasks', { report_id: 'GENERAL_REPORT_ON_REMAINING_ITEMS', params: { month: 1 } }),
    came: { task_id: 't' },
    read: { taskId: 't' },
  },
  pack_export_create: {
    run: (o) => o.exports.createOfPacks('a', 1_000),
    asked: post('/export/tasks/sgtins', {}),
    came: { task_id: 't' },
    read: { taskId: 't' },
  },
  'export_search of all tasks, whatever their state': {
    run: (o) => o.exports.tasks('a'),
    asked: post('/data/export/tasks/search', {}),
    came: { list: [{ task_id: 't', current_status: 'PAUSED' }] },
    read: [{ taskId: 't' }],
  },
  export_state: {
    run: (o) => o.exports.state('a', 't'),
    asked: get('/data/export/tasks/t'),
    came: { current_status: 'FAILED', error_message: 'too many' },
    read: { phase: 'failed', status: 'FAILED', errorMessage: 'too many' },
  },
  'export_state that nobody knows': {
    run: (o) => o.exports.state('a', 't'),
    asked: get('/data/export/tasks/t'),
    came: { current_status: 'PAUSED' },
    read: { phase: 'unrecognised', status: 'PAUSED' },
  },
  export_delete: {
    run: (o) => o.exports.remove('a', 'r'),
    asked: { method: 'DELETE', path: '/data/export/results/r' },
    came: '',
    read: null,
  },
};

describe.each(BUILT_IN_PROFILES)('operations of %s', (name) => {
  it.each(Object.entries(CASES))('%s', async (_name, { run, asked, came, read }) => {
    const caller = new ScriptedCaller(loadProfile(name), [answer(came)]);
    expect(await run(new RegistryOperations(caller))).toMatchObject({ kind: 'ok', value: read });
    const [first, ...others] = caller.asked;
    expect(others).toEqual([]);
    expect(first).toEqual({ account: 'a', operation: first?.operation, ...asked, path: `/api/v1${asked.path}` });
    expect(JSON.stringify(caller.asked)).not.toMatch(/prod_desc_label|users\/find/);
  });
});

const run = async (
  came: JsonObject | string,
  work: (operations: RegistryOperations) => Promise<unknown>,
  [status, type] = [200, 'application/json'],
): Promise<unknown> =>
  work(new RegistryOperations(new ScriptedCaller(loadProfile('mdlp'), [answer(came, status, type)])));

describe('what the registry does not give', () => {
  const hierarchy = (o: RegistryOperations): Promise<unknown> => o.ssccs.hierarchy('a', SSCC);
  it.each([
    [
      'a container that is not there, under HTTP 200',
      { error_code: 2, error_desc: 'no such', up: [], down: [] },
      hierarchy,
      { kind: 'not_found', text: 'no such' },
    ],
    [
      'a container of somebody else, under HTTP 200',
      { error_code: 4, error_desc: 'not yours', up: [], down: [] },
      hierarchy,
      { kind: 'access_denied', text: 'not yours' },
    ],
    [
      'a full hierarchy of somebody else',
      { error_code: 4, error_desc: 'not yours' },
      (o) => o.ssccs.fullHierarchy('a', SSCC),
      { kind: 'access_denied' },
    ],
    [
      'packs of a container of somebody else',
      { error_code: '4', error_desc: 'not yours', entries: [], total: 0 },
      (o) => o.lists.page('a', 'sscc_sgtins', { path: { sscc: SSCC } }),
      { kind: 'access_denied' },
    ],
    [
      'a pack of somebody else',
      { error_code: 4, error_desc: 'not yours' },
      (o) => o.sgtins.one('a', SGTIN),
      { kind: 'access_denied' },
    ],
    [
      'neither branch of a hierarchy',
      {},
      hierarchy,
      { kind: 'unknown', reason: expect.stringContaining('neither "up" nor "down"') },
    ],
    [
      'a total',
      { entries: [] },
      (o) => o.lists.page('a', 'sgtins'),
      { kind: 'unknown', reason: expect.stringContaining('"total" is not a count') },
    ],
    [
      'entries',
      { total: 0 },
      (o) => o.lists.page('a', 'sgtins'),
      { kind: 'unknown', reason: expect.stringContaining('the answer has no "entries"') },
    ],
    [
      'the key of an entry',
      { entries: [{ sgtin: SGTIN }, {}], total: 2 },
      (o) => o.lists.page('a', 'sgtins'),
      { kind: 'unknown', reason: expect.stringContaining('"entries"[1]: a record without "sgtin"') },
    ],
    [
      'any packs',
      { total: 1 },
      (o) => o.sgtins.byList('a', [SGTIN]),
      { kind: 'unknown', reason: expect.stringContaining('neither "entries" nor "failed_entries"') },
    ],
    [
      'records, but other things',
      { entries: 'x', total: 1 },
      (o) => o.lists.page('a', 'sgtins'),
      { kind: 'unknown', reason: expect.stringContaining('"entries"[0]: it is not an object') },
    ],
    ['a say on the group', {}, (o) => o.groups.check('a', ['r']), { kind: 'unknown' }],
    [
      'a page that is not for people after a group start',
      '<html>login</html>',
      (o) => o.groups.start('a', ['r']),
      { kind: 'unknown' },
    ],
    [
      'a good word after a group start',
      { success: false, violations: ['X'] },
      (o) => o.groups.start('a', ['r']),
      { kind: 'unknown' },
    ],
    [
      'bytes of an export',
      '',
      (o) => o.exports.file('a', 'r'),
      { kind: 'unknown', reason: expect.stringContaining('empty') },
    ],
    [
      'anything but JSON instead of an export file',
      '{"x":1}',
      (o) => o.exports.file('a', 'r'),
      { kind: 'unknown', reason: expect.stringContaining('instead of a file') },
    ],
  ] as [string, JsonObject | string, (o: RegistryOperations) => Promise<unknown>, object][])(
    '%s',
    async (_name, came, work, outcome) => {
      expect(await run(came, work)).toMatchObject(outcome);
    },
  );

  it('is 403 without a code: a missing right, not a pack of somebody else', async () => {
    const caller = new ScriptedCaller(loadProfile('mdlp'), [answer({ error_description: 'no right' }, 403)]);
    expect(await new RegistryOperations(caller).sgtins.one('a', SGTIN)).toMatchObject({
      kind: 'refused',
      code: 'http_403',
    });
  });
});

describe('a 404 about one thing', () => {
  const page = ['<html><title>404 Not Found</title></html>', 404, 'text/html'] as const;
  const said = [{ error_description: 'no such' }, 404, 'application/json'] as const;
  it.each([
    ['a container', (o: RegistryOperations) => o.ssccs.fullHierarchy('a', SSCC)],
    ['an export', (o: RegistryOperations) => o.exports.state('a', 't')],
    ['a file', (o: RegistryOperations) => o.exports.file('a', 'r')],
    ['a file on the disk', (o: RegistryOperations) => o.exports.download('a', 'r', '/nowhere')],
    ['a result that is to be removed', (o: RegistryOperations) => o.exports.remove('a', 'r')],
  ])('is absence of %s in the words of the registry alone', async (_name, work) => {
    const told = async ([body, status, type]: typeof page | typeof said): Promise<unknown> =>
      run(body, work, [status, type]);
    expect(await told(said)).toMatchObject({ kind: 'not_found', text: 'no such' });
    expect(await told(page)).toMatchObject({ kind: 'refused', mayBeOthers: true });
  });
});

describe('what the caller gets wrong is said before any call', () => {
  it.each([
    [
      'a filter that the list does not have',
      (o: RegistryOperations) => o.lists.page('a', 'users', { filter: { gtin: 'x' } as never }),
      'gtin',
    ],
    ['a value of the path that is missing', (o: RegistryOperations) => o.lists.page('a', 'sscc_sgtins'), 'sscc'],
    ['no packs', (o: RegistryOperations) => o.sgtins.byList('a', []), 'sgtins'],
    [
      'more packs than one call takes',
      (o: RegistryOperations) => o.sgtins.byList('a', Array.from({ length: 501 }, String)),
      'sgtins',
    ],
    ['a group of none', (o: RegistryOperations) => o.groups.start('a', []), 'requestIds'],
  ])('%s', async (_name, work, field) => {
    const caller = new ScriptedCaller(loadProfile('mdlp'), []);
    await expect(work(new RegistryOperations(caller))).rejects.toMatchObject({
      code: 'invalid_parameter',
      place: { field },
    });
    expect(caller.asked).toEqual([]);
  });
});

describe('the file of an export', () => {
  it('is taken byte for byte, whatever its label', async () => {
    const bytes = Buffer.from('504b0304ff00fe', 'hex');
    for (const type of ['application/zip', 'text/html']) {
      const caller = new ScriptedCaller(loadProfile('mdlp'), [answer(bytes, 200, type)]);
      expect(await new RegistryOperations(caller).exports.file('a', 'r/1')).toMatchObject({
        kind: 'ok',
        value: { bytes },
      });
      expect(caller.asked).toMatchObject([{ method: 'GET', path: '/api/v1/data/export/results/r%2F1/file' }]);
    }
  });
});

describe('the full hierarchy of a container', () => {
  const leaf = {
    sgtin: SGTIN,
    sscc: 'B',
    internal_state: 'in_circulation',
    series_number: 'A1',
    pause_decision_info: { id: 'h', number: '1-2', date: '2026-01-01' },
  };

  it('tells nodes and leaves apart, and takes single objects and lists', async () => {
    const outcome = await run(
      {
        up: { sscc: 'A', childs: null },
        down: { sscc: 'A', packing_date: '2026-01-01T00:00:00Z', childs: [{ sscc: 'B', childs: leaf }, leaf] },
      },
      (o) => o.ssccs.fullHierarchy('a', 'A'),
    );
    const pack = {
      sgtin: SGTIN,
      sscc: 'B',
      status: 'in_circulation',
      series: 'A1',
      suspension: { decisionId: 'h', number: '1-2', decidedOn: '2026-01-01' },
    };
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        up: [{ sscc: 'A', containers: [], packs: [] }],
        down: [
          {
            sscc: 'A',
            packedAt: '2026-01-01T00:00:00.000Z',
            packs: [pack],
            containers: [{ sscc: 'B', packs: [pack], containers: [] }],
          },
        ],
      },
    });
  });

  it('is not understood when it never ends', async () => {
    let node: JsonObject = { sscc: 'X', childs: [] };
    for (let depth = 0; depth < 40; depth += 1) node = { sscc: 'X', childs: [node] };
    expect(await run({ up: [], down: node }, (o) => o.ssccs.fullHierarchy('a', 'X'))).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('nested deeper than 32'),
    });
  });
});

describe('packs by lists', () => {
  it('go a page a call, each once, and end at the first that is not answered', async () => {
    const profile = loadProfile('mdlp', { operations: { sgtins_by_list: { pageSize: 2 } } });
    const answers = [
      answer({ entries: [{ sgtin: 'a' }], failed_entries: [{ sgtin: 'b', error_code: 2 }] }),
      answer({ entries: [{ sgtin: 'c' }] }),
    ];
    const caller = new ScriptedCaller(profile, [...answers]);
    expect(await new RegistryOperations(caller).sgtins.byLists('x', ['a', 'b', 'a', 'c'])).toMatchObject({
      kind: 'ok',
      value: { found: [{ sgtin: 'a' }, { sgtin: 'c' }], failed: [{ sgtin: 'b', reason: 'not_found' }], unanswered: [] },
    });
    expect(caller.asked.map((one) => one.body)).toEqual([
      { filter: { sgtins: ['a', 'b'] } },
      { filter: { sgtins: ['c'] } },
    ]);
    const failing = new ScriptedCaller(profile, [
      answers[0] as never,
      { kind: 'failed', written: false, reason: 'gone' },
    ]);
    expect(await new RegistryOperations(failing).sgtins.byLists('x', ['a', 'b', 'c', 'd', 'e'])).toEqual({
      kind: 'not_sent',
      reason: 'gone',
    });
    expect(failing.asked).toHaveLength(21);
  });
});
