import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentReading } from '#documents';
import type {
  AccessEvent,
  AccountEvent,
  ApiKeyEvent,
  CommandRefused,
  DocumentEvent,
  GroupEvent,
  InboundEvent,
} from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import { inTransaction } from '#postgres';
import { orphans, outcomesAfter, projections } from '#read-models';
import { PostgresTaskQueue } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { emptyTables } from '../../../test/support/empty-tables.js';
import { add, dump, READ_MODELS, readGolden, restore, rowsOf, type Row, type Tables } from '../test/golden-database.js';
import { GoldenWorld } from '../test/golden-world.js';
import { openStores, type Stores } from '../test/test-harness.js';

/**
 * A database as the version of commit 4a55cc3 left it, with documents, groups and documents of others wherever they may
 * stand; and what that version itself made of it in the end (made by apps/worker/test/golden-story.ts).
 */
const GOLDEN = readGolden(new URL('../test/golden-4a55cc3.json.br', import.meta.url));
const { ids: IDS, registry: REGISTRY, tables: LEFT, concluded: CONCLUDED } = GOLDEN;
const LOG = [...(LEFT['event'] ?? []), ...(CONCLUDED['event'] ?? [])];
/** Two documents of it lie at the registry under one request_id, and always did. */
const TWICE = 'twice';

type EventType = (
  AccessEvent | DocumentEvent | GroupEvent | InboundEvent | AccountEvent | ApiKeyEvent | CommandRefused
)['type'];

/** Every type of event that the domain knows. */
const TYPES = [
  ...(['DocumentRegistered', 'DocumentWaiting', 'PredecessorConcluded', 'DocumentHeld', 'HoldWaived'] as const),
  ...(['DocumentReleased', 'DocumentRefused', 'SendAttempted', 'DocumentSent', 'SendRefused'] as const),
  ...(['SendNotDelivered', 'SendUnconfirmed', 'LookUpMissed', 'SendAbsenceProven', 'DuplicateDetected'] as const),
  ...(['StatusObserved', 'ReceiptStored', 'DocumentDownloaded', 'DocumentNotProcessed', 'DocumentSuperseded'] as const),
  ...(['DocumentResent', 'DocumentConcluded', 'ConclusionRevised', 'UploadOpened', 'UploadFinishAttempted'] as const),
  ...(['UploadFinishNotDelivered', 'UploadFinishUnconfirmed', 'UploadRefused', 'UploadSeenOpen'] as const),
  ...(['UploadProvenOpen', 'GroupRegistered', 'GroupWaiting', 'GroupPredecessorConcluded', 'GroupHeld'] as const),
  ...(['GroupHoldWaived', 'GroupReleased', 'MemberSent', 'MemberConcluded', 'MemberRevised'] as const),
  ...(['GroupCheckPassed', 'GroupCheckDenied', 'GroupStartAttempted', 'GroupStarted', 'GroupStartRefused'] as const),
  ...(['GroupStartNotDelivered', 'GroupStartUnconfirmed', 'GroupStartNotSeen', 'GroupStartAbsenceProven'] as const),
  ...(['GroupHalted', 'GroupHaltLifted', 'GroupConcluded', 'GroupConclusionRevised', 'GroupResumed'] as const),
  ...(['InboundSeen', 'InboundStatusObserved', 'InboundDownloaded', 'InboundDownloadGivenUp'] as const),
  ...(['InboundReceiptStored', 'InboundReceiptGivenUp', 'InboundConcluded', 'InboundLinked'] as const),
  ...(['InboundRecognised', 'AccountCertificateSeen', 'AccountPaused', 'AccountResumed', 'ApiKeyMade'] as const),
  ...(['ApiKeyAdopted', 'ApiKeyFirstUsed', 'ApiKeyRevoked', 'ApiKeyExpired', 'ApiKeyConfirmed'] as const),
  ...(['CommandRefused'] as const),
] as const satisfies EventType[];

/** Types that came after the version that wrote the golden database. */
const LATER = [
  ...([
    'HoldLapsed',
    'GroupHoldLapsed',
    'ItemWaitLifted',
    'GroupItemWaitLifted',
    'GateWarned',
    'GateHoldLifted',
    'SuspensionWarned',
    'SuspensionHoldLifted',
    'EvidenceOpened',
    'ExportBegun',
    'ExportEnded',
    'ApiKeysRefused',
    'StockUploaded',
    'InboundAskedAgain',
  ] as const),
] as const satisfies EventType[];

/** What that version said in other words. */
const REWORDED = [
  [
    'what stands behind is not processed, and is ended when that is sure',
    'the documents after it are not processed and end once that is sure',
  ],
  ['what stands behind was not processed', 'the documents after it were not processed'],
  ['the registry holds more than one document under', 'the registry holds one document too many under'],
  ['Held until command-', 'Waits until command-'],
  // A member that was revised kept why it had counted as failed.
  [String.raw`\"outcome\":\"accepted\",\"cause\":\"registry_failed\"`, String.raw`\"outcome\":\"accepted\"`],
] as const;
const reworded = (row: Row): Row =>
  JSON.parse(REWORDED.reduce((text, [then, now]) => text.replaceAll(then, now), JSON.stringify(row))) as Row;

interface Restored extends Stores {
  db: TestDatabase;
  close(): Promise<void>;
}

async function restored(): Promise<Restored> {
  const db = await testDatabase();
  await restore(db.pool, LEFT);
  const stores = await openStores(db.pool);
  const close = async (): Promise<void> => {
    await stores.close();
    await db.drop();
  };
  return { ...stores, db, close };
}

const nameOf = (id: string): string => Object.keys(IDS).find((name) => IDS[name] === id) ?? id;
const sorted = (lines: string[]): string[] => [...lines].sort();
const bodyOf = (row: Row): Row => JSON.parse(row['body'] as string) as Row;

describe('a database of the version before, with everything under way', () => {
  let world: GoldenWorld;
  let at: Restored;
  let queue: PostgresTaskQueue;
  beforeAll(async () => {
    at = await restored();
    queue = new PostgresTaskQueue({ pool: at.db.pool });
    world = new GoldenWorld({ ...at, pool: at.db.pool, queue });
    world.resume(REGISTRY);
  });
  afterAll(async () => {
    await queue.close();
    await at.close();
  });

  /** The registry holds one document twice. */
  const secondCopy = (): string => world.registry.taken.get(IDS[TWICE] as string)?.[1] as string;

  it('holds what it is to prove: every phase and end, every kind of task, and a log ahead of who follows it', async () => {
    const { documents, groups, inbound } = world.context;
    // Received and refused last no longer than one append.
    expect(await phasesIn('document', documents)).toEqual(
      sorted(['ready', 'waiting', 'sending', 'unconfirmed', 'uploading', 'sent', 'concluded']),
    );
    expect(await phasesIn('group', groups)).toEqual(
      sorted([
        ...['waiting', 'sending', 'checking', 'startable', 'starting', 'unconfirmed', 'started', 'halted', 'concluded'],
      ]),
    );
    expect(await phasesIn('inbound', inbound)).toEqual(['concluded', 'followed', 'ours']);
    expect(each('document_outcome', ({ outcome, cause }) => `${String(outcome)} ${String(cause)}`)).toEqual(
      sorted(ENDS),
    );
    expect(each('document_outcome', (row) => row['status'])).toEqual(sorted(STATUSES));
    expect(each('task', (row) => row['kind'])).toEqual(sorted(KINDS));
    const head = Math.max(...(LEFT['event'] ?? []).map((row) => Number(row['position'])));
    const handled = (name: string) => Number(LEFT['checkpoint']?.find((row) => row['name'] === name)?.['position']);
    expect(handled('saga:document')).toBeLessThan(handled('projection:document-outcomes'));
    expect(handled('projection:document-outcomes')).toBeLessThan(head);
  });

  it('is upgraded in place, with nothing that nobody carries on and its account still paused', async () => {
    expect(await world.context.gates.isPaused('second')).toBe(true);
    await world.catchUp();
    expect(await orphans(at.db.pool, at.store)).toEqual([]);
  });

  it('is carried on as the version before would have done it: the same events in each stream, each document sent once', async () => {
    await world.conclude();
    expect(world.failed).toEqual([]);
    const { [`inbound ${secondCopy()}`]: ofCopy, ...story } = storyOf(await rowsOf(at.db.pool, 'event'));
    expect(story).toEqual(storyOf(LOG));
    // That version followed one copy alone (decision 111).
    expect(ofCopy?.map((told) => told.split(' ')[0])).toEqual([
      ...['InboundSeen', 'InboundDownloaded', 'InboundReceiptStored', 'InboundConcluded'],
    ]);
    const copies = [...world.registry.taken].map(([id, documentIds]) => `${nameOf(id)} ${documentIds.length}`);
    expect(copies.filter((one) => !one.endsWith(' 1'))).toEqual([`${TWICE} 2`]);
  });

  it('ends with the same documents, groups and documents of others, and leaves no task and no orphan', async () => {
    const ends = (tables: Tables) =>
      ['document_outcome', 'document_group', 'inbound_document'].flatMap((table) => (tables[table] ?? []).map(endIn));
    const now = await dump(at.db.pool, READ_MODELS);
    expect(ends(now).length).toBeGreaterThan(0);
    const copy = (now['inbound_document'] ?? []).filter((row) => row['document_id'] === secondCopy());
    expect(copy).toHaveLength(1);
    expect(sorted(ends(now))).toEqual(sorted([...ends(CONCLUDED), ...copy.map(endIn)]));
    expect(await orphans(at.db.pool, at.store)).toEqual([]);
    const { rows } = await at.db.pool.query(`SELECT key FROM task WHERE kind NOT LIKE 'list_%'`);
    expect(rows).toEqual([]);
  });

  it('tells each outcome once: what was told stays as it was, and what a delivery had not come to follows it', async () => {
    const before = LEFT['outcome_event'] ?? [];
    const now = await rowsOf(at.db.pool, 'outcome_event');
    expect(now.slice(0, before.length)).toEqual(before);
    const told = (rows: Row[]): string[] =>
      sorted(rows.map((row) => `${String(row['type'])} ${nameOf(String(row['subject']))}`));
    expect(told(now)).toEqual(told(CONCLUDED['outcome_event'] ?? []));
    const delivered = before.slice(0, before.length / 2);
    const rest = await outcomesAfter(at.db.pool, BigInt(delivered.at(-1)?.['position'] as number), now.length);
    expect([...delivered, ...rest].map((row) => row['id' as never])).toEqual(now.map((row) => row['id']));
  });
});

const each = (table: string, value: (row: Row) => unknown): string[] =>
  sorted([...new Set((LEFT[table] ?? []).map((row) => String(value(row))))]);

async function phasesIn(
  kind: string,
  states: { stateInLog(id: string): Promise<{ phase: string }> },
): Promise<string[]> {
  const streams = each('event', (row) => row['stream']).filter((stream) => stream.startsWith(`${kind}-`));
  const found = await Promise.all(streams.map((stream) => states.stateInLog(stream.slice(kind.length + 1))));
  return sorted([...new Set(found.map(({ phase }) => phase))]);
}

const ENDS = [
  ...['null null', 'accepted null', 'partial null', 'rejected null', 'failed registry_failed', 'failed send_refused'],
  ...['failed predecessor_failed', 'failed not_processed'],
];
const STATUSES = ['null', 'uploading', 'processing', 'processed', 'failed_result_ready', 'failed'];
/** Kinds of tasks that are under way in it. */
const KINDS = [
  ...['run_command', 'send', 'look_up', 'upload', 'status', 'receipt', 'download'],
  ...['note_predecessor', 'note_group_predecessor', 'release_dependents', 'decide_hold', 'note_member'],
  ...['conclude_members', 'settle_group', 'group_check', 'group_start', 'group_look', 'replan', 'retry_parked'],
  ...['list_incoming', 'list_outgoing', 'note_listed'],
  ...['inbound_status', 'inbound_download', 'inbound_receipt', 'inbound_link'],
];

const endIn = (row: Row): string => {
  const { request_id, group_id, document_id, phase, outcome, cause, halt } = row;
  return [request_id ?? group_id ?? document_id, phase, outcome, cause, halt]
    .map((one) => nameOf(String(one ?? '')))
    .join(' ');
};

/** What happened in each stream, without the times that passed. */
function storyOf(events: Row[]): Record<string, string[]> {
  const streams: Record<string, string[]> = {};
  for (const event of events) {
    const [, kind = '', id = ''] = /^([a-z]+)-(.*)$/.exec(String(event['stream'])) ?? [];
    const told = JSON.parse(textOf(event['data'])) as Row;
    // Measured; and what later versions tell of a signature.
    const { sinceAttemptEndedMs: _, chainSha256: _chain, signedAt: _at, clock: _clock, ...data } = told;
    (streams[`${kind} ${nameOf(id)}`] ??= []).push(`${String(event['type'])} ${JSON.stringify(data)}`);
  }
  return streams;
}

const textOf = (bytea: unknown): string => Buffer.from(String(bytea).slice(2), 'hex').toString();

describe('the golden events of the version before', () => {
  let at: Restored;
  beforeAll(async () => {
    at = await restored();
    for (const table of ['event', 'evidence']) await add(at.db.pool, table, CONCLUDED[table] ?? []);
  });
  afterAll(() => at.close());

  it('replay to the rows that it had: while all was under way, and when all had ended', async () => {
    const replays = projections({ evidence: at.evidence, documents: documentReading(), store: at.store });
    const upTo = BigInt(Math.max(...(LEFT['checkpoint'] ?? []).map((row) => Number(row['position']))));
    await emptyTables(at.db.pool, ...replays);
    for (const table of READ_MODELS) expect([table, await rowsOf(at.db.pool, table)]).toEqual([table, []]);
    const log = await everyEvent(at.store);
    expect(log).toHaveLength(LOG.length);
    for (const projection of replays)
      await replay(
        at,
        projection,
        log.filter((event) => event.position <= upTo),
      );
    await expectRows(at, LEFT);
    for (const projection of replays)
      await replay(
        at,
        projection,
        log.filter((event) => event.position > upTo),
      );
    await expectRows(at, CONCLUDED);
  });

  it('are of every type that its version knew, and of no other', () => {
    const inLog = [...new Set(LOG.map((event) => String(event['type'])))];
    expect(sorted(inLog)).toEqual(sorted([...TYPES]));
    const unnamed: Exclude<EventType, (typeof TYPES)[number] | (typeof LATER)[number]>[] = [];
    expect(unnamed satisfies never[]).toEqual([]);
  });
});

async function everyEvent(store: EventStore): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let after = 0n; after < BigInt(LOG.length); after = events.at(-1)?.position ?? after) {
    events.push(...(await store.readAll(after)).events);
  }
  return events;
}

async function replay(
  { db }: Restored,
  projection: ReturnType<typeof projections>[number],
  events: RecordedEvent[],
): Promise<void> {
  const { streamPrefixes = [], types } = projection.filter;
  const wanted = events.filter(
    ({ stream, type }) => streamPrefixes.some((prefix) => stream.startsWith(prefix)) && (types?.includes(type) ?? true),
  );
  for (let from = 0; from < wanted.length;) {
    const page = wanted.slice(from);
    from += (await inTransaction(db.pool, (tx) => projection.project(page, tx))) ?? page.length;
  }
}

/** Every column that the version before had holds what it held; a column that came since is left to its own tests. */
async function expectRows({ db }: Restored, golden: Tables): Promise<void> {
  for (const table of READ_MODELS) {
    const rows = (golden[table] ?? []).map((row) => acceptedAfterAll(reworded(row)));
    expect([table, rows.length]).not.toEqual([table, 0]);
    const columns = Object.keys(rows[0] ?? {});
    const known = (row: Row): Row => Object.fromEntries(columns.map((name) => [name, row[name]]));
    const readable = (row: Row): Row => (table === 'outcome_event' ? { ...row, body: bodyOf(row) } : row);
    const lines = (some: Row[]): Row[] => inOrder(some.map((row) => readable(known(oneProblem(row)))));
    const now = (await rowsOf(db.pool, table)).filter((row) => !(table === 'sent_document' && isPastThisSystem(row)));
    expect({ table, rows: lines(now) }).toEqual({ table, rows: lines(rows) });
  }
}

/** The version before asked to resume a group whose documents had all been accepted after all. */
function acceptedAfterAll(row: Row): Row {
  if (row['topic'] !== 'group.revised.accepted') return row;
  const { data, ...body } = bodyOf(row);
  const { remedy: _, ...told } = data as Row;
  const sentence = `The group has ${(told['members'] as Row[]).length} documents; all were accepted.`;
  return { ...row, body: JSON.stringify({ ...body, data: { ...told, sentence } }) };
}

const inOrder = (rows: Row[]): Row[] =>
  rows
    .map((row) => ({ row, place: JSON.stringify(row) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ row }) => row);

/** The version before told both problems of a document of others in one text. */
const oneProblem = ({ receipt_problem: ofReceipt = null, ...row }: Row): Row =>
  ofReceipt === null ? row : { ...row, problem: [row['problem'], ofReceipt].filter(Boolean).join('. ') };

/** The golden story names so what went past this system: the version before kept no row of how it was sent. */
const isPastThisSystem = (row: Row): boolean => String(row['request_id']).startsWith('r-');
