import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readSheet } from 'read-excel-file/node';
import type { EpcisDocument } from '#documents';
import { PostgresEvidenceStore } from '#evidence';
import { defined } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';
import { ANSWERS } from './answers.js';
import { FILE_TYPES } from './file-types.js';

const SHA = 'a'.repeat(64);
const OTHER_PACK = SGTIN.replace(/1$/, '2');
const THIRD_PACK = SGTIN.replace(/1$/, '3');
const BOX = '046070017700000001';
const LONG_ID = '文'.repeat(200);

let harness: TestHarness;
let ajv: Ajv2020;
let conform: (name: keyof typeof ANSWERS, body: unknown) => void;

/** One document of every kind: concluded in part, found twice at the registry, held, and only acknowledged. */
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  const after = { after: ['done', 'ERP-17'] };
  await harness.postLines([
    {
      command_id: 'done',
      xml: arrival(`<sgtin>${SGTIN}</sgtin><sgtin>${OTHER_PACK}</sgtin>`),
      reference: 'ERP/1',
      account: 'north',
    },
    { command_id: 'twice', xml: arrival() },
    { command_id: 'held', xml: arrival(), ...after },
    { command_id: 'refused', xml: arrival() },
    { command_id: 'acknowledged', xml: arrival() },
    { command_id: LONG_ID, xml: arrival() },
  ]);
  await runAll(await keepReceipt());
  ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true } });
  ajv.addSchema({ $id: 'api', ...(await harness.ask('/v1/openapi.json')).json<object>() });
  conform = (name, body) => {
    ANSWERS[name].parse(body);
    if (!ajv.validate({ $ref: `api#/components/schemas/${name}` }, body)) throw new Error(ajv.errorsText());
  };
});
afterAll(() => harness.stop());

/** A receipt that refuses one of the two packs. */
async function keepReceipt(): Promise<string> {
  const receipt =
    '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T10:00:00+03:00">' +
    `<operation>701</operation><operation_id>${await requestIdOf('done')}</operation_id>` +
    '<operation_result>Partial</operation_result><errors><error_code>4</error_code>' +
    `<error_desc>not yours</error_desc><object_id>${OTHER_PACK}</object_id></errors></result></documents>`;
  return new PostgresEvidenceStore({ pool: harness.db.pool }).put(Buffer.from(receipt), 'application/xml');
}

/** Brings each document to where it stands. */
async function runAll(receiptSha256: string): Promise<void> {
  const begin = { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA } as const;
  const sent = {
    type: 'RecordSendAnswer',
    attempt: 1,
    answer: { kind: 'sent', documentId: 'registry-1', answerSha256: SHA },
  } as const;
  await harness.run('done', [
    begin,
    sent,
    { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
    {
      type: 'RecordReceipt',
      receipt: {
        receiptSha256,
        result: 'partial',
        acceptedAt: '2026-01-15T07:00:00Z',
        errorCount: 1,
        comment: 'see below',
      },
    },
  ]);
  await harness.run('twice', [
    begin,
    sent,
    {
      type: 'RecordLookUp',
      attempt: 1,
      documentIds: ['registry-2', 'registry-3'],
      sinceAttemptEndedMs: 1,
      unknownGraceMs: 1,
      answerSha256: SHA,
    },
  ]);
  await harness.run('refused', [
    begin,
    { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'refused', code: '7', text: 'no', answerSha256: SHA } },
  ]);
  await harness.run('held');
}

async function requestIdOf(commandId: string): Promise<string> {
  const { rows } = await harness.db.pool.query('SELECT request_id FROM command WHERE command_id = $1', [commandId]);
  return String(rows[0].request_id);
}

describe('answers are as their description says, in the names of the commands', () => {
  it.each(['done', 'twice', 'held', 'refused', 'acknowledged'])(
    'the command and the document: %s',
    async (commandId) => {
      const requestId = await requestIdOf(commandId);
      const byCommand = (await harness.ask(`/v1/commands/${commandId}`)).json<{ document: object }>();
      conform('CommandAnswer', byCommand);
      const document = (await harness.ask(`/v1/documents/${requestId}`)).json();
      conform('Document', document);
      expect(byCommand.document).toEqual(document);
      expect(document).toMatchObject({ command_id: commandId, request_id: requestId });
      expect(JSON.stringify(document)).not.toMatch(/"[a-z0-9]+[A-Z]\w*":/);
    },
  );

  it('a partial outcome with the items that were refused', async () => {
    const document = (await harness.ask(`/v1/documents/${await requestIdOf('done')}`)).json();
    expect(document).toMatchObject({
      phase: 'concluded',
      outcome: 'partial',
      account: 'north',
      reference: 'ERP/1',
      accepted_at: '2026-01-15T07:00:00.000Z',
      errors: [{ code: '4', text: 'not yours', object_id: OTHER_PACK }],
    });
  });

  it('the list, its pages and its lines', async () => {
    const page = (await harness.ask('/v1/documents?limit=3')).json<{ items: object[]; next_cursor: string }>();
    conform('DocumentPage', page);
    const rest = (await harness.ask(`/v1/documents?limit=3&cursor=${page.next_cursor}`)).json<{ items: object[] }>();
    conform('DocumentPage', rest);
    const lines = await harness.ask('/v1/documents?limit=1', { headers: { accept: 'application/x-ndjson' } });
    const items = lines.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    for (const item of items) conform('DocumentSummary', item);
    expect(items).toEqual([...page.items, ...rest.items]);
    expect(items).toHaveLength(4);
  });

  it('the outcomes and their items', async () => {
    const page = (await harness.ask('/v1/outcomes')).json<{
      items: { type: string; data: { items: { href: string } } }[];
    }>();
    conform('OutcomePage', page);
    expect(page.items.map((one) => one.type.split('.')[2])).toEqual(['concluded', 'duplicate', 'concluded', 'waiting']);
    conform('DocumentItems', (await harness.ask(`${String(page.items[0]?.data.items.href)}?limit=1`)).json());
  });

  /** A pack in a container that was moved. */
  async function keepContainer(): Promise<void> {
    await harness.db.pool.query(
      `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
         accepted_at, document_sha256, recorded_at)
       SELECT n, 'r' || n, doc_type, 'accepted', '00000000000464', '2026-01-15', t, t, $1, t
       FROM (VALUES (9001, 911, '2026-01-15T08:00:00Z'::timestamptz), (9002, 431, '2026-01-15T09:00:00Z')) AS d (n,
         doc_type, t)`,
      [SHA],
    );
    await harness.db.pool.query(
      `INSERT INTO movement_effect (known_from, effect, result, containment, container, place)
       VALUES (9001, 0, 'applied', 'packed', $1, NULL), (9002, 0, 'applied', NULL, NULL, '00000000000777')`,
      [BOX],
    );
    await harness.db.pool.query(
      'INSERT INTO item_movement (known_from, effect, ordinal, item) VALUES (9001, 0, 0, $1), (9002, 0, 0, $2)',
      [THIRD_PACK, BOX],
    );
    await harness.db.pool.query(
      'INSERT INTO containment (known_from, ordinal, child, parent) VALUES (9001, 0, $1, $2)',
      [THIRD_PACK, BOX],
    );
  }

  it('the life and the content of a container', async () => {
    await keepContainer();
    const history = (await harness.ask(`/v1/containers/${BOX}/history`)).json();
    conform('ContainerHistory', history);
    expect(history).toMatchObject({ sscc: BOX, place: '00000000000777', movements: [{ doc_type: 431 }] });
    const content = (await harness.ask(`/v1/containers/${BOX}/content`)).json();
    conform('ContainerContent', content);
    expect(content).toMatchObject({
      is_known: true,
      packs: 1,
      containers: 0,
      items: [{ item: THIRD_PACK, container: BOX, level: 1, known_at: '9001' }],
      documents: [{ doc_type: 911, known_at: '9001', document_sha256: SHA }],
      findings: [],
    });
    const before = await harness.ask(`/v1/containers/${BOX}/content?as_of=2026-01-15T07:00:00Z`);
    expect(before.json()).toMatchObject({ items: [], documents: [] });
    const state = (await harness.ask(`/v1/packs/${THIRD_PACK}`)).json();
    conform('PackState', state);
    expect(state).toMatchObject({ container: { value: BOX, told_by: { doc_type: 911 } } });
  });

  it('the summary and a pack’s history', async () => {
    const summary = (await harness.ask('/v1/summary')).json();
    conform('OutcomeCounts', summary);
    expect(summary).toEqual({ documents: 4, accepted: 0, partial: 1, rejected: 0, failed: 1, unfinished: 2 });
    const history = (await harness.ask(`/v1/packs/${SGTIN}/history`)).json();
    conform('PackHistory', history);
    const told = (await harness.ask(`/v1/packs/${SGTIN}`)).json<{ findings: object[] }>();
    conform('PackState', told);
    expect(told).toMatchObject({
      status: { value: 'in_circulation', told_by: { doc_type: 701, document_sha256: expect.any(String) } },
      owner: { value: expect.stringMatching(/^\d{14}$/) },
      unknown: ['series', 'expiry', 'funding'],
      uncertain: [],
      findings: [{ kind: 'transfer_not_known' }],
    });
    expect(await harness.ask(`/v1/packs/${SGTIN}?known_at=2020-01-01T00:00:00Z`)).toMatchObject({ status: 404 });
    expect(history['movements']).toHaveLength(2);
    const scan = `]d201${SGTIN.slice(0, 14)}21${SGTIN.slice(14)}\u001d91EE06\u001d92${'aB+/'.repeat(22)}`;
    expect((await harness.ask(`/v1/packs/${encodeURIComponent(scan)}/history`)).json()).toEqual(history);
    const container = await harness.ask('/v1/packs/00123456789012345678/history');
    expect([container.status, container.json()['detail']]).toEqual([422, expect.stringContaining('is an SSCC')]);
  });
});

it('an answer as known then waits for the record of packs, and is refused while that has not come so far', async () => {
  const { rows } = await harness.db.pool.query<{ head: bigint }>('SELECT max(position) AS head FROM event');
  const head = rows[0]!.head;
  const moveRecord = (position: bigint): Promise<unknown> =>
    harness.db.pool.query(`UPDATE checkpoint SET position = $1 WHERE name = 'projection:sgtin-history'`, [position]);
  const askKnownAt = (when: bigint | string) => harness.ask(`/v1/packs/${SGTIN}?known_at=${when}`);
  await moveRecord(head);
  const now = await harness.ask(`/v1/packs/${SGTIN}`);
  await moveRecord(head - 1n);
  // What is asked about now says how far the record has come.
  const paths = [
    `/packs/${SGTIN}`,
    `/packs/${SGTIN}/history`,
    `/containers/${BOX}/history`,
    `/containers/${BOX}/content`,
  ];
  for (const path of [...paths, '/packs'])
    expect([path, (await harness.ask(`/v1${path}`)).json()]).toMatchObject([path, { known_at: String(head - 1n) }]);
  expect((await askKnownAt(head - 1n)).status).toBe(200);
  expect((await askKnownAt('2020-01-01T00:00:00Z')).status).toBe(404);
  const behind = await Promise.all([askKnownAt(head), askKnownAt(new Date().toISOString())]);
  expect(behind.map(({ status }) => status)).toEqual([503, 503]);
  expect(behind[0]!.json()).toMatchObject({ code: 'unavailable', field: 'known_at' });
  const waiting = askKnownAt(head);
  await moveRecord(head);
  expect(await waiting).toMatchObject({ status: 200, text: now.text });
  const toCome = await askKnownAt(new Date(Date.now() + 60_000).toISOString());
  expect([toCome.status, toCome.json()['detail']]).toEqual([400, expect.stringContaining('is to come')]);
});

describe('rows as one file', () => {
  const checks = { purpose: 'pick', place: '00000000000777', codes: [SGTIN, 'nonsense', THIRD_PACK] };
  const fileOf = async (path: string, accept: string): Promise<Response> =>
    fetch(`${harness.gateway.url}${path}`, {
      headers: { accept, 'content-type': 'application/json' },
      ...(path.endsWith('checks') ? { method: 'POST', body: JSON.stringify(checks) } : {}),
    });

  it.each([
    [`/v1/packs/${SGTIN}/history`, 'item', [SGTIN, SGTIN]],
    [`/v1/containers/${BOX}/history`, 'item', [BOX]],
    [`/v1/containers/${BOX}/content`, 'told_by_document_sha256', [SHA]],
    ['/v1/packs', 'told_by_document_sha256', [expect.stringMatching(/^[0-9a-f]{64}$/)]],
    ['/v1/stock', 'packs', [1]],
    ['/v1/packs/checks', 'answer', ['yes', 'no', 'no'].map(() => expect.stringMatching(/^(yes|no|unknown)$/))],
    ['/v1/reports/timeliness', 'doc_type', [701, 701, 701, 701]],
  ])('%s', async (path, column, values) => {
    const excel = await fileOf(path, FILE_TYPES.excel);
    expect([excel.status, excel.headers.get('content-type')]).toEqual([200, FILE_TYPES.excel]);
    const [head = [], ...rows] = await readSheet(Buffer.from(await excel.arrayBuffer()));
    expect(rows.map((row) => row[head.indexOf(column)])).toEqual(values);
    const csv = await (await fileOf(path, FILE_TYPES.csv)).text();
    expect(csv.split('\r\n')[0]).toBe(head.join(','));
    expect(csv.trim().split('\r\n')).toHaveLength(values.length + 1);
    const lines = (await (await fileOf(path, FILE_TYPES.ndjson)).text()).trim().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object).length > 0)).toEqual(values.map(() => true));
  });

  it('are checked by the day at the place', async () => {
    const checked = async (day?: string) =>
      (await harness.post({ ...checks, ...defined({ day }) }, '/v1/packs/checks')).json<{ day: string }>();
    expect(await checked('2026-02-27')).toMatchObject({ day: '2026-02-27' });
    expect((await checked()).day).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(await checked('2026-02-30')).toMatchObject({ code: 'invalid_command' });
  });

  it('tells what is wrong instead of a file', async () => {
    expect((await fileOf('/v1/packs/123/history', FILE_TYPES.excel)).status).toBe(422);
  });
});

describe('what was acknowledged can be looked at', () => {
  it('at the address of its document before it ran', async () => {
    const taken = (await harness.post({ command_id: 'early', xml: arrival() })).json<{ document: string }>();
    conform('Acknowledgement', taken);
    const document = await harness.ask(taken.document);
    expect([document.status, document.json()]).toEqual([
      200,
      expect.objectContaining({ phase: 'acknowledged', command_id: 'early', account: 'main' }),
    ]);
  });

  it('at its Location, however long its id is', async () => {
    const again = await harness.post({ command_id: LONG_ID, xml: arrival() });
    const location = again.headers.get('location') as string;
    expect(location.length).toBeGreaterThan(1_800);
    expect((await harness.ask(location)).json()).toMatchObject({
      command_id: LONG_ID,
      document: { phase: 'acknowledged' },
    });
  });
});

describe('what a held document waits for', () => {
  it('is told by command id, with what was never received', async () => {
    const document = (await harness.ask('/v1/documents?command_id=held')).json<{ items: object[] }>();
    expect(document.items).toMatchObject([
      {
        phase: 'waiting',
        waiting_for: [
          { command_id: 'done', known: true },
          { command_id: 'ERP-17', known: false },
        ],
        sentence: 'Waits until done and ERP-17 have concluded; ERP-17 was not received yet.',
      },
    ]);
    // Acknowledged is received, though nobody has run it yet.
    await harness.post({ command_id: 'ERP-17', xml: arrival() });
    const later = (await harness.ask('/v1/documents?command_id=held')).json<{ items: object[] }>();
    expect(later.items).toMatchObject([{ sentence: 'Waits until done and ERP-17 have concluded.' }]);
  });
});

describe('filters', () => {
  const ids = async (query: string) =>
    (await harness.ask(`/v1/documents?${query}`))
      .json<{ items: { command_id: string }[] }>()
      .items.map((one) => one.command_id);

  it('find by command id, and the alarms', async () => {
    expect(await ids('command_id=twice')).toEqual(['twice']);
    expect(await ids('command_id=nobody')).toEqual([]);
    expect(await ids('duplicate=true')).toEqual(['twice']);
    expect(await ids('duplicate=false')).toEqual(['held', 'refused', 'done']);
    expect(await ids('reference=ERP%2F1')).toEqual(['done']);
  });
});

describe('wrong parameters are refused in words', () => {
  it.each([
    ['/v1/documents?doc_type=3000000000', 'doc_type'],
    ['/v1/documents?doc_type=0x10', 'doc_type'],
    ['/v1/documents?reference=%00', 'reference'],
    ['/v1/documents?account=%00', 'account'],
    ['/v1/documents?command_id=%00', 'command_id'],
    ['/v1/documents?command_id=%20a', 'command_id'],
    ['/v1/documents?duplicate=1', 'duplicate'],
    ['/v1/documents?limit=1e2', 'limit'],
    ['/v1/documents?limit=', 'limit'],
    ['/v1/documents?cursor=%00', 'cursor'],
    ['/v1/documents?registered_from=2026-02-30T00:00:00Z', 'registered_from'],
    ['/v1/documents?phase=sent&phase=ready', 'phase'],
    ['/v1/commands/%00', 'commandId'],
    [`/v1/commands/${'x'.repeat(201)}`, 'commandId'],
    [`/v1/packs/${SGTIN}/history?known_at=-1`, 'known_at'],
  ])('%s', async (path, field) => {
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const answer = await harness.ask(path, { headers: { accept } });
      expect([answer.status, answer.json()]).toEqual([
        400,
        expect.objectContaining({ code: 'invalid_parameter', field }),
      ]);
    }
  });

  it.each([
    '/v1/documents?registered_from=0000-01-01T00:00:00Z',
    '/v1/documents?registered_to=9999-12-31T23:59:59-14:00',
    `/v1/packs/${SGTIN}/history?as_of=0000-01-01T00:00:00%2B14:00`,
    '/v1/commands/%ff',
    '/v1/commands/%',
  ])('%s is no fault of ours', async (path) => expect((await harness.ask(path)).status).toBeLessThan(500));
});

describe('in EPCIS 2.0', () => {
  const EPCIS = { headers: { accept: 'application/ld+json' } };
  const EPC = `https://id.gs1.org/01/${SGTIN.slice(0, 14)}/21/${SGTIN.slice(14)}`;

  it('a pack has its events, and what was refused is named with its reason', async () => {
    const answer = await harness.ask(`/v1/packs/${SGTIN}/history`, EPCIS);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('application/ld+json'),
    ]);
    const told = answer.json<EpcisDocument>();
    expect(told).toMatchObject({ type: 'EPCISDocument', schemaVersion: '2.0' });
    expect(told.epcisBody.eventList).toMatchObject([
      { bizStep: 'receiving', epcList: [EPC], eventTimeZoneOffset: '+03:00' },
      { bizStep: 'accepting', disposition: 'sellable_accessible', 'pedigree:status': 'in_circulation' },
    ]);
    const other = (await harness.ask(`/v1/packs/${OTHER_PACK}/history`, EPCIS)).json<EpcisDocument>();
    expect(other.epcisBody.eventList).toEqual([]);
    expect(other['pedigree:leftOut']).toMatchObject([
      { 'pedigree:docType': '701', 'pedigree:why': 'refused: not yours' },
    ]);
  });

  it('a container has its events, and none of before it was packed', async () => {
    const answer = await harness.ask(`/v1/containers/${BOX}/history?as_of=2026-01-15T07:00:00Z`, EPCIS);
    expect(answer.headers.get('content-type')).toContain('application/ld+json');
    expect(answer.json<EpcisDocument>().epcisBody.eventList).toEqual([]);
    expect((await harness.ask('/v1/containers/046070017700000018/history', EPCIS)).status).toBe(404);
  });

  it('a document has the events of all its items, and one that is not concluded none', async () => {
    const of = async (commandId: string) =>
      (await harness.ask(`/v1/documents/${await requestIdOf(commandId)}`, EPCIS)).json<EpcisDocument>();
    const pack = (await harness.ask(`/v1/packs/${SGTIN}/history`, EPCIS)).json<EpcisDocument>();
    const done = await of('done');
    // One of its two packs was applied, and so the document's event is the pack's.
    expect(done.epcisBody).toEqual(pack.epcisBody);
    expect(done['pedigree:leftOut']).toMatchObject([{ 'pedigree:why': 'refused: not yours' }]);
    expect((await of('held'))['pedigree:leftOut']).toMatchObject([{ 'pedigree:why': 'it is not concluded' }]);
    expect((await of('refused'))['pedigree:leftOut']).toMatchObject([
      { 'pedigree:why': 'it ended failed, without a receipt' },
    ]);
  });
});
