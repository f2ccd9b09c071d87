import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { auditorSchemas } from '../../apps/auditor/src/auditor.js';
import { signCheckpoint } from '../../apps/auditor/src/log/checkpoints.js';
import { seal } from '../../apps/auditor/src/log/seal.js';
import { gatewaySchemas } from '../../apps/gateway/src/schemas.js';
import { documentStream } from '#domain';
import { PostgresEventStore, type EventMetadata, type EventStore, type NewEvent } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { sha256Hex, uuid5, type JsonObject } from '#kernel';
import { noteSigner } from '#merkle';
import { inTransaction } from '#postgres';
import { reconciliationSchema } from '#reconciliation';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../support/log-places.js';
import { CampaignLog } from './campaign-log.js';
import { afterChains } from './subjects/after-chains/after-chains.js';
import { badMessages } from './subjects/bad-messages/bad-messages.js';
import { corners } from './subjects/corners/corners.js';
import { PROMISES } from './subjects/corners/promised.js';
import { documents } from './subjects/documents/documents.js';
import { evidence } from './subjects/evidence/evidence.js';
import { groups } from './subjects/groups/groups.js';
import { inbound } from './subjects/inbound/inbound.js';
import { manners } from './subjects/manners/manners.js';
import { itemWaits } from './subjects/item-waits/item-waits.js';
import { orphans } from './subjects/orphans/orphans.js';
import { outcomes } from './subjects/outcomes/outcomes.js';
import { audit } from './subjects/audit/audit.js';
import { readModels } from './subjects/read-models/read-models.js';
import { reconciliation } from './subjects/reconciliation/reconciliation.js';
import { subjects } from './subjects/list.js';
import type { Ended, Fed, OurDocument, OutcomeMessage, Subject, TruthDocument } from './subjects/subject.js';

const INSTALLATION = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
const idOf = (commandId: string): string => uuid5(commandId, INSTALLATION);
const at = (second: number): string => new Date(Date.UTC(2026, 2, 2, 7, 0, second)).toISOString();
const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'checks', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: at(0),
  correlationId: INSTALLATION,
  causationId: INSTALLATION,
};
const RECEIPT = Buffer.from('<receipt/>');
const DOCUMENT = Buffer.from('<documents/>');
const UNPACKING = readFileSync(new URL('../../libs/documents/fixtures/912-unit_unpack.xml', import.meta.url));

let database: TestDatabase;
let logs: OpenLog[];
/** That of the place whose turn it is. */
let log: OpenLog;
/** Ids of the events that the ERP must hear of. */
const [told, refusal] = [randomUUID(), randomUUID()];

/**
 * Two documents of which the second comes after the first, in log and evidence; one of somebody else's; and one message
 * that is refused.
 */
beforeAll(async () => {
  database = await testDatabase(gatewaySchemas);
  logs = await Promise.all(LOG_PLACES.map((place) => openLog(place, database.pool)));
  [log] = logs as [OpenLog];
  const kept = new PostgresEvidenceStore({ pool: database.pool });
  for (const bytes of [RECEIPT, DOCUMENT, UNPACKING]) await kept.put(bytes, 'application/xml');
  for (const { store } of logs) {
    await append(store, documentStream(idOf('a')), {
      id: told,
      type: 'DocumentConcluded',
      data: { receiptSha256: sha256Hex(RECEIPT) },
    });
    await append(store, 'refusal-bad', {
      id: refusal,
      type: 'CommandRefused',
      data: { messageId: 'bad', code: 'invalid_json' },
    });
    for (const type of ['InboundSeen', 'InboundConcluded']) await append(store, 'inbound-theirs', { type, data: {} });
  }
});
afterAll(async () => {
  for (const one of logs) await one.close();
  await database?.drop();
});

async function append(
  store: EventStore,
  stream: string,
  event: { id?: string; type: string; data: JsonObject },
): Promise<void> {
  const whole: NewEvent = { id: randomUUID(), schemaVersion: 1, metadata: METADATA, ...event };
  await store.append(stream, 'any', [whole]);
}

const fed = (commandId: string, over: Partial<Fed> = {}): Fed => ({
  key: commandId,
  atMs: 0,
  via: 'http',
  body: Buffer.alloc(0),
  commandId,
  expect: { kind: 'taken', outcome: 'accepted' },
  acknowledgedMs: 1,
  attempts: 1,
  ...over,
});
const ours = (commandId: string, over: Partial<OurDocument> = {}): OurDocument => ({
  commandId,
  requestId: idOf(commandId),
  phase: 'concluded',
  outcome: 'accepted',
  ...over,
});
const truth = (commandId: string, seq: number, over: Partial<TruthDocument> = {}): TruthDocument => ({
  seq,
  request_id: idOf(commandId),
  document_id: `d-${commandId}`,
  account: 'main',
  sender: 'own',
  doc_type: 701,
  status: 'processed',
  result: 'accepted',
  accepted_at: at(10 * seq),
  processed_at: at(10 * seq + 5),
  receiver: null,
  notice_of: null,
  upload_type: 0,
  sends: 1,
  ...over,
});
const THEIRS: TruthDocument = { ...truth('theirs', 9), document_id: 'theirs', account: null, receiver: 'own' };
const BAD = fed('bad', {
  commandId: undefined as never,
  via: 'amqp',
  expect: { kind: 'refused', code: 'invalid_json' },
});
const heard = (over: Partial<OutcomeMessage> = {}): OutcomeMessage => ({
  id: uuid5(`outcome/${told}`, INSTALLATION),
  subject: idOf('a'),
  sequence: '1',
  body: Buffer.from('{}'),
  ...over,
});

interface Doctored extends Partial<Omit<Ended, 'heard'>> {
  heard?: OutcomeMessage[];
  files?: { receipt: string | null; document: string };
  violations?: number;
}

/** A campaign that went well, but for what is changed. */
function ended({ heard: messages, files, violations = 0, ...changed }: Doctored = {}): Ended {
  const answers: Record<string, unknown> = {
    '/violations': { count: violations, byRule: { early_status: violations }, violations: [] },
  };
  return {
    fed: [fed('a'), fed('b', { after: ['a'] }), BAD],
    ours: new Map([ours('a'), ours('b')].map((one) => [one.requestId, one])),
    registry: [truth('a', 1), truth('b', 2), THEIRS],
    heard: {
      feed: [...(messages ?? [heard()]), heard({ id: uuid5(`outcome/${refusal}`, INSTALLATION), subject: 'bad' })],
    },
    deadLetters: [{ messageId: 'bad', code: 'invalid_json', reason: 'no JSON' }],
    truth: async <T>(path: string) =>
      (answers[path] ??
        (path.endsWith('d-a')
          ? (files ?? { receipt: RECEIPT.toString('base64'), document: DOCUMENT.toString('base64') })
          : { receipt: null, document: DOCUMENT.toString('base64') })) as T,
    pool: database.pool,
    log: new CampaignLog(log.store),
    installation: INSTALLATION,
    requestIdOf: idOf,
    orphans: [],
    corners: { events: {}, crossed: {} },
    seed: 1,
    minutes: 3,
    kills: 30,
    ...changed,
  };
}

/** What the first promise asks for, but for what is taken away. */
function promised(without: { kind?: string; phase?: string }): Doctored {
  const [{ seeds, leastMinutes, leastKills, events, crossed }] = PROMISES as [(typeof PROMISES)[number]];
  const once = (names: string[], absent?: string): object =>
    Object.fromEntries(names.filter((name) => name !== absent).map((name) => [name, 1]));
  return {
    seed: seeds[0] as number,
    minutes: leastMinutes,
    kills: leastKills,
    corners: { events: once(events, without.kind), crossed: once(crossed, without.phase) },
  };
}

const STUCK = { requestId: idOf('a'), position: '7', lastEvent: 'StatusObserved', since: new Date(0) };
const inBoth = (...registry: TruthDocument[]): Doctored => ({ registry: [...registry, THEIRS] });
const group = [
  fed('g', {
    documents: [
      { commandId: 'a', outcome: 'accepted' },
      { commandId: 'b', outcome: 'accepted' },
    ],
  }),
];

/** Two documents that open one container: what became of the second, while the first is under way. */
function twoAboutOneContainer(type: string): CampaignLog {
  const about = (commandId: string, one: { type: string; position: bigint }) => ({
    stream: documentStream(idOf(commandId)),
    ...one,
    data: { requestId: idOf(commandId), commandId, docType: 912, after: [], documentSha256: sha256Hex(UNPACKING) },
  });
  const events = [
    about('a', { type: 'DocumentRegistered', position: 1n }),
    about('a', { type: 'SendAttempted', position: 2n }),
    about('b', { type: 'DocumentRegistered', position: 3n }),
    about('b', { type, position: 4n }),
  ];
  return { events: () => Promise.resolve(events) } as unknown as CampaignLog;
}

/** What each check must find: what is wrong, and the words that it says of it. */
const WRONG: [Subject, string, () => Doctored, RegExp][] = [
  [
    documents,
    'a command that nobody acknowledged',
    () => ({ fed: [fed('a'), fed('b', { acknowledgedMs: undefined as never })] }),
    /b was never acknowledged/,
  ],
  [
    documents,
    'a command that was acknowledged and is unknown',
    () => ({ ours: new Map([[idOf('a'), ours('a')]]) }),
    /b \(http\) should be accepted and is unknown/,
  ],
  [
    documents,
    'a document that has not concluded',
    () => ({
      ours: new Map(
        [ours('a'), ours('b', { outcome: undefined as never, phase: 'sent' })].map((one) => [one.requestId, one]),
      ),
    }),
    /should be accepted and is sent/,
  ],
  [
    documents,
    'a second document of one request_id',
    () => inBoth(truth('a', 1), truth('b', 2), truth('b', 3)),
    /has [0-9a-f-]+ 2 times/,
  ],
  [documents, 'a second send', () => inBoth(truth('a', 1), truth('b', 2, { sends: 2 })), /was sent 2 times/],
  [
    documents,
    'one that only the registry has',
    () => inBoth(truth('a', 1), truth('b', 2), truth('c', 3)),
    /which Pedigree does not know/,
  ],
  [
    documents,
    'one that nobody gave',
    () => ({ ours: new Map([ours('a'), ours('b'), ours('c')].map((one) => [one.requestId, one])) }),
    /has c, which nobody gave/,
  ],
  [documents, 'one that the registry does not have', () => inBoth(truth('a', 1)), /the registry does not have it/],
  [
    afterChains,
    'one that was sent before its predecessor was done',
    () => inBoth(truth('a', 1, { processed_at: at(30) }), truth('b', 2)),
    /before a was processed/,
  ],
  [
    afterChains,
    'one that was sent when the first of several predecessors was done',
    () => ({
      fed: [fed('a'), fed('c'), fed('b', { after: ['a', 'c'] })],
      ...inBoth(truth('a', 1), truth('c', 2, { processed_at: at(90) }), truth('b', 3)),
    }),
    /b was accepted at .*, before c was processed/,
  ],
  [
    afterChains,
    'one that was sent before a member of the group that it comes after was done',
    () => ({
      fed: [...group, fed('c', { after: ['g'] })],
      ...inBoth(truth('a', 1), truth('b', 2, { processed_at: at(90) }), truth('c', 3)),
    }),
    /c was accepted at .*, before b was processed/,
  ],
  [afterChains, 'one whose predecessor never came', () => inBoth(truth('b', 2)), /which it comes after, is not/],
  [
    groups,
    'a member that overtook another',
    () => ({ fed: group, ...inBoth(truth('a', 2), truth('b', 1)) }),
    /overtook/,
  ],
  [
    groups,
    'a member without the one in front of it',
    () => ({ fed: group, ...inBoth(truth('b', 2)) }),
    /the member in front of it is not/,
  ],
  [badMessages, 'a bad message that vanished', () => ({ deadLetters: [] }), /bad is not among the dead letters/],
  [
    badMessages,
    'a good message among the dead letters',
    () => ({
      deadLetters: [
        { messageId: 'bad', code: 'invalid_json', reason: '' },
        { messageId: 'a', code: 'delivery_limit', reason: '' },
      ],
    }),
    /a is among the dead letters/,
  ],
  [
    badMessages,
    'another reason',
    () => ({ deadLetters: [{ messageId: 'bad', code: 'delivery_limit', reason: '' }] }),
    /should be put aside as invalid_json/,
  ],
  [
    badMessages,
    'a refusal that the log does not have',
    () => ({
      fed: [fed('a'), { ...BAD, key: 'other' }],
      deadLetters: [{ messageId: 'other', code: 'invalid_json', reason: '' }],
    }),
    /other should be recorded once as refused, invalid_json, and was as \[\]/,
  ],
  [
    badMessages,
    'a bad message that was acknowledged over HTTP',
    () => ({ fed: [{ ...BAD, via: 'http' }], deadLetters: [] }),
    /was acknowledged and should be refused/,
  ],
  [outcomes, 'an outcome that was never told', () => ({ heard: [] }), /was never told/],
  [
    outcomes,
    'an outcome out of nothing',
    () => ({ heard: [heard(), heard({ id: randomUUID(), sequence: '2' })] }),
    /nothing in the log says so/,
  ],
  [
    outcomes,
    'other content under one id',
    () => ({ heard: [heard(), heard({ repeated: Buffer.from('{"a":1}') })] }),
    /told twice with different content/,
  ],
  [
    outcomes,
    'the wrong order',
    () => ({ heard: [heard({ sequence: '5' }), heard({ id: randomUUID(), sequence: '4' })] }),
    /was told for the first time before/,
  ],
  [
    inbound,
    'a document of others that was not seen',
    () => ({ registry: [truth('a', 1), truth('b', 2), THEIRS, { ...THEIRS, document_id: 'missed' }] }),
    /missed .* was seen 0 times/,
  ],
  [inbound, 'an unknown packing', () => ({ registry: [{ ...THEIRS, doc_type: 911 }] }), /1 packings of others, and 0/],
  [
    inbound,
    'one of ours that was taken for theirs',
    () => ({ registry: [truth('a', 1), truth('b', 2)] }),
    /theirs was taken for a document of others/,
  ],
  [
    evidence,
    'another receipt',
    () => ({ files: { receipt: Buffer.from('<other/>').toString('base64'), document: DOCUMENT.toString('base64') } }),
    /receipt is [0-9a-f]{64}, ours [0-9a-f]{64}/,
  ],
  [
    evidence,
    'bytes that were not kept',
    () => ({ files: { receipt: RECEIPT.toString('base64'), document: Buffer.from('<lost/>').toString('base64') } }),
    /7 bytes of the registry are not in the evidence/,
  ],
  [manners, 'a violation', () => ({ violations: 1 }), /1 violations/],
  [
    itemWaits,
    'one that was sent while an earlier one of the same container was under way',
    () => ({ log: twoAboutOneContainer('SendAttempted') }),
    /^b was sent at 4, before a, which concerns \d{18} too, ended at no time$/,
  ],
  [orphans, 'a document that nothing moves on', () => ({ orphans: [STUCK] }), /is stuck: since StatusObserved/],
  [
    corners,
    'a kind of event that the seed promises',
    () => promised({ kind: 'SendAbsenceProven' }),
    /promises SendAbsenceProven, and the log has none/,
  ],
  [corners, 'a phase that no kill crossed', () => promised({ phase: 'waiting' }), /while a document is waiting/],
];

/** Those that look at the database alone are tried on one of their own, below. */
const OF_THE_DATABASE: Subject[] = [readModels, audit, reconciliation];

describe.each(LOG_PLACES)('a check of the campaign with its log in %s', (place) => {
  beforeAll(() => {
    log = logs[LOG_PLACES.indexOf(place)] as OpenLog;
  });

  it.each(subjects.filter((subject) => subject.check !== undefined && !OF_THE_DATABASE.includes(subject)))(
    '$name is content where all went well',
    async ({ check }) => {
      expect(await check?.(ended())).toEqual([]);
    },
  );

  it.each(WRONG.map(([subject, ...wrong]) => [subject.name, ...wrong, subject] as const))(
    '%s finds %s',
    async (_name, _what, doctored, words, subject) => {
      const found = (await subject.check?.(ended(doctored()))) ?? [];
      expect(found.filter((complaint) => words.test(complaint))).not.toEqual([]);
    },
  );

  it(
    'asks nothing more of a seed that reached what it promises, and nothing of one that promises nothing or was ' +
      'short',
    async () => {
      expect(await corners.check?.(ended(promised({})))).toEqual([]);
      expect(await corners.check?.(ended({ ...promised({ kind: 'DocumentSent' }), kills: 1 }))).toEqual([]);
      expect(await corners.check?.(ended({ ...promised({ kind: 'DocumentSent' }), minutes: 1 }))).toEqual([]);
      expect(await corners.check?.(ended({ ...promised({ kind: 'DocumentSent' }), seed: 999_999 }))).toEqual([]);
    },
  );

  it('lets one wait for an earlier one of the same container', async () => {
    expect(await itemWaits.check?.(ended({ log: twoAboutOneContainer('DocumentWaiting') }))).toEqual([]);
  });

  it('is tried here for every subject', () => {
    const tried = new Set([...WRONG.map(([subject]) => subject), ...OF_THE_DATABASE]);
    expect(
      subjects.filter((subject) => subject.check !== undefined && !tried.has(subject)).map(({ name }) => name),
    ).toEqual([]);
  });
});

describe('a campaign is not at rest', () => {
  const SHIPMENT = { ...truth('shipment', 10), account: null, sender: 'supplier-a', doc_type: 415 };
  const open = (...registry: TruthDocument[]) =>
    inbound.unrest?.({ registry: async () => registry, log: new CampaignLog(log.store), heard: { feed: [] } });

  it('while a document of others is not concluded, or is yet to come of what the registry works on', async () => {
    expect(await open(truth('a', 1), THEIRS, SHIPMENT)).toBe(0);
    expect(await open(THEIRS, { ...THEIRS, document_id: 'missed' })).toBe(1);
    expect(await open(THEIRS, { ...SHIPMENT, status: 'processing', processed_at: null })).toBe(1);
  });
});

describe('the checks of audit and reconciliation', () => {
  let other: TestDatabase;
  let store: EventStore;
  beforeAll(async () => {
    other = await testDatabase([...auditorSchemas, reconciliationSchema]);
    store = new PostgresEventStore({ pool: other.pool });
    for (const run of ['1', '2', '3', '4']) {
      await append(store, `run-${run}`, { type: 'RunCompleted', data: {} });
      await other.pool.query(`INSERT INTO reconciliation_request (run_id, reason, actor) VALUES ($1, 'a test', '{}')`, [
        run,
      ]);
      await other.pool.query(
        `INSERT INTO reconciliation_finding (run_id, attempt, n, kind, finding) VALUES ($1, 'one', 1, 'missing', '{}')`,
        [run],
      );
    }
    const { events } = await store.readAll(0n);
    for (const page of [events.slice(0, 3), events.slice(3)]) await inTransaction(other.pool, (tx) => seal(page, tx));
    const { privateKey } = generateKeyPairSync('ed25519');
    await signCheckpoint(
      other.pool,
      noteSigner('test/log', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    );
  });
  afterAll(async () => {
    await store?.close();
    await other?.drop();
  });
  const found = (subject: Subject): Promise<string[]> =>
    subject.check?.(ended({ pool: other.pool, log: new CampaignLog(store) })) ?? Promise.resolve([]);

  it('are content where all went well', async () => {
    expect([await found(audit), await found(reconciliation)]).toEqual([[], []]);
  });

  it('leave the last events of the auditor itself to its next start', async () => {
    const set = (size: number, name: string): Promise<unknown> =>
      other.pool.query(`UPDATE audit_tree SET size = ${size}; UPDATE event SET stream = '${name}' WHERE position = 4`);
    await set(3, 'audit-sweep');
    expect((await found(audit)).filter((one) => /has sealed/.test(one))).toEqual([]);
    await set(4, 'run-4');
  });

  const TAMPERED: [Subject, string, string, string, RegExp][] = [
    [
      audit,
      'an event that was changed after it was sealed',
      `UPDATE event SET data = '{"a":1}' WHERE position = 2`,
      `UPDATE event SET data = '{}' WHERE position = 2`,
      /is not that of the log/,
    ],
    [
      audit,
      'an event that was not sealed',
      'UPDATE audit_tree SET size = 3',
      'UPDATE audit_tree SET size = 4',
      /has sealed 3 events, and the log has 4/,
    ],
    [
      audit,
      'a checkpoint of something else',
      `UPDATE audit_checkpoint SET root = sha256(root)`,
      'SELECT 1',
      /the checkpoint of 4 events is not/,
    ],
    [
      reconciliation,
      'a comparison that was never made',
      `UPDATE event SET stream = 'run-5' WHERE position = 1`,
      `UPDATE event SET stream = 'run-1' WHERE position = 1`,
      /was made 0 times/,
    ],
    [
      reconciliation,
      'findings of two attempts',
      `INSERT INTO reconciliation_finding VALUES ('1', 'two', 1, 'missing', '{}')`,
      `DELETE FROM reconciliation_finding WHERE attempt = 'two'`,
      /findings of 2 attempts/,
    ],
    [
      reconciliation,
      'fewer comparisons than were asked for',
      `DELETE FROM reconciliation_request WHERE run_id = '4'`,
      'SELECT 1',
      /3 comparisons were asked for, and not 4/,
    ],
  ];
  it.each(TAMPERED.map(([subject, ...wrong]) => [subject.name, ...wrong, subject] as const))(
    '%s finds %s',
    async (_name, _what, tampering, mending, words, subject) => {
      expect((await other.pool.query(tampering)).rowCount).toBeGreaterThan(0);
      expect((await found(subject)).filter((complaint) => words.test(complaint))).not.toEqual([]);
      await other.pool.query(mending);
    },
  );
});

describe('the check of the read models', () => {
  let other: TestDatabase;
  let store: EventStore;
  beforeAll(async () => {
    other = await testDatabase(gatewaySchemas);
    store = new PostgresEventStore({ pool: other.pool });
    const data = {
      direction: 'incoming',
      channel: 'counterparty',
      account: 'main',
      status: 'processed',
      answerSha256: 'd'.repeat(64),
    };
    for (const documentId of ['one', 'two'])
      await append(store, `inbound-${documentId}`, { type: 'InboundSeen', data: { documentId, ...data } });
  });
  afterAll(async () => {
    await store?.close();
    await other?.drop();
  });
  const found = (): Promise<string[]> =>
    readModels.check?.(ended({ pool: other.pool, log: new CampaignLog(store) })) ?? Promise.resolve([]);

  it('is content where all went well', async () => {
    expect(await found()).toEqual([]);
  });

  it.each([
    [
      'a row that is not as it should be',
      `UPDATE inbound_document SET account = 'north' WHERE document_id = 'one'`,
      /^inbound_document, only before the rebuild/,
    ],
    [
      'a row that is missing',
      `DELETE FROM inbound_document WHERE document_id = 'one'`,
      /^inbound_document, only after it/,
    ],
    ['a table from which everything is missing', 'DELETE FROM inbound_document', /^inbound_document, only after it/],
  ])('finds %s', async (_what, tampering, words) => {
    const { rowCount } = await other.pool.query(tampering);
    expect(rowCount).toBeGreaterThan(0);
    expect((await found()).filter((complaint) => words.test(complaint))).not.toEqual([]);
    // The check has built it again.
    expect(await found()).toEqual([]);
  });
});
