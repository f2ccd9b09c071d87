import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PostgresEvidenceStore } from '#evidence';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';
import { ANSWERS } from './answers.js';

const SHA = 'a'.repeat(64);
const OTHER_PACK = SGTIN.replace(/1$/, '2');
const LONG_ID = '文'.repeat(200);

let harness: TestHarness;
let ajv: Ajv2020;
let conform: (name: keyof typeof ANSWERS, body: unknown) => void;

/** One document of every kind: concluded in part, found twice at the registry, held, and only acknowledged. */
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase());
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

  it('the summary and a pack’s history', async () => {
    const summary = (await harness.ask('/v1/summary')).json();
    conform('OutcomeCounts', summary);
    expect(summary).toEqual({ documents: 4, accepted: 0, partial: 1, rejected: 0, failed: 1, unfinished: 2 });
    const history = (await harness.ask(`/v1/packs/${SGTIN}/history`)).json();
    conform('PackHistory', history);
    expect(history['movements']).toHaveLength(2);
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
        sentence: 'Held until done and ERP-17 have concluded; ERP-17 was not received yet.',
      },
    ]);
    // Acknowledged is received, though nobody has run it yet.
    await harness.post({ command_id: 'ERP-17', xml: arrival() });
    const later = (await harness.ask('/v1/documents?command_id=held')).json<{ items: object[] }>();
    expect(later.items).toMatchObject([{ sentence: 'Held until done and ERP-17 have concluded.' }]);
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
