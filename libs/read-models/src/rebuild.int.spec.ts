import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { inTransaction, installationSchema } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { emptyTables } from '../../../test/support/empty-tables.js';
import { documentOutcomesProjection } from './document-outcomes/projection.js';
import { box, DIGEST, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../test/fixture.js';
import { GroupOfTest } from '../test/group-fixture.js';
import { groupsProjection } from './groups/projection.js';
import type { Projection } from '#subscriptions';
import { readModelSchemas } from './schema.js';
import { outboxProjection } from './outbox/projection.js';
import { sgtinHistoryProjection } from './sgtin-history/projection.js';
import { timelinessProjection } from './timeliness/projection.js';

const TABLES = [
  'document_outcome',
  'document_outcome_count',
  'document_open',
  'sent_document',
  'movement_document',
  'movement_effect',
  'item_movement',
  'containment',
  'content_question',
  'pack_state',
  'pack_stay',
  'series_told',
  'outcome_event',
  'document_group',
  'document_timing',
];
const DOCUMENTS = 60;

let db: TestDatabase;
let log: LogOfTest;

beforeAll(async () => {
  db = await testDatabase([installationSchema, ...readModelSchemas]);
  log = aDay();
});
afterAll(() => db.drop());

/** Documents of every outcome whose events lie interleaved in the log, as they do when many are under way at once. */
function aDay(): LogOfTest {
  const log = new LogOfTest();
  const open: (() => void)[] = [];
  for (let n = 0; n < DOCUMENTS; n += 1) {
    const of = documentOf(n);
    const requestId = log.send(of, n % 7 === 6 ? [{ commandId: 'command-1', requestId: 'r-1' }] : []);
    open.push(() => {
      log.conclude(requestId, of);
      if (of.outcome === 'failed') open.push(() => log.conclude(requestId, { ...of, outcome: 'accepted' }, 'failed'));
    });
    if (open.length > 5) open.splice(n % 5, 1)[0]?.();
  }
  for (let next = open.shift(); next !== undefined; next = open.shift()) next();
  groups(log);
  contents(log);
  log.send(documentOf(0));
  return log;
}

/** One that the ERP gave, which halts; and a document in parts, one of which turns out otherwise. */
function groups(log: LogOfTest): void {
  const given = new GroupOfTest(log, [documentOf(0), documentOf(4), documentOf(2)]).start();
  const split = new GroupOfTest(log, [documentOf(2), documentOf(8)], { kind: 'split' }).start();
  given.end(0);
  split.end(0);
  given.end(1);
  split.end(1, { outcome: 'failed' });
  given.end(2, { outcome: 'failed', cause: 'not_processed' });
  split.end(1, {}, 'failed');
}

/** A container within a container is told; of another the registry tells nothing, until it is given up. */
function contents(log: LogOfTest): void {
  const told = [
    { id: box(9), into: box(8) },
    { id: pack(3), into: box(9), series: 'S1' },
  ];
  log.tell(box(8), told, '2026-03-01T09:00:30.000Z');
  const arrival = { documentId: 'arrival', docType: 601, subjectId: '00000000000777' };
  const withheld = { sscc: box(7), documentId: 'arrival', reason: 'access_denied', answerSha256: DIGEST } as const;
  log.addToContainer(box(7), { type: 'ContainerContentAsked', data: { sscc: box(7), account: 'main', arrival } });
  log.addToContainer(box(7), { type: 'ContainerContentWithheld', data: { ...withheld, attempts: 1 } });
  log.addToContainer(box(7), { type: 'ContainerContentUnavailable', data: { ...withheld, attempts: 12 } });
}

function documentOf(n: number): DocumentOfTest {
  const items = Array.from({ length: 10 }, (_, i) => pack((n * 3 + i) % 50));
  const errors = [{ code: '4', text: 'not the owner', objectId: items[0] as string }];
  switch (n % 6) {
    case 0:
      return { docType: 911, items, into: box(n % 4), series: [{ series: `S${n}` }] };
    case 1:
      return { docType: 415, items: [box(n % 4)], counterpartyId: '00000000000999' };
    case 2:
      return { docType: 511, items, outcome: 'partial', errors };
    case 3:
      return { docType: 912, items: [box(n % 4)] };
    case 4:
      return { docType: 552, items, outcome: 'failed' };
    default:
      return { docType: 431, items, outcome: 'rejected', errors };
  }
}

/** Returns what each transaction handled. */
async function replay(projection: Projection, pageSize: number): Promise<RecordedEvent[][]> {
  const { streamPrefixes = [], types } = projection.filter;
  const wanted = (event: RecordedEvent) =>
    streamPrefixes.some((prefix) => event.stream.startsWith(prefix)) && (types?.includes(event.type) ?? true);
  const events = log.events.filter(wanted);
  await emptyTables(db.pool, projection);
  const handled: RecordedEvent[][] = [];
  for (let from = 0; from < events.length; from += handled.at(-1)?.length ?? 0) {
    const page = events.slice(from, from + pageSize);
    handled.push(page.slice(0, (await inTransaction(db.pool, (tx) => projection.project(page, tx))) ?? page.length));
  }
  return handled;
}

async function dump(): Promise<Record<string, string[]>> {
  const tables = await Promise.all(
    TABLES.map(async (table) => {
      const { rows } = await db.pool.query<{ line: string }>(
        `SELECT row(t.*)::text AS line FROM ${table} t ORDER BY 1`,
      );
      return [table, rows.map((row) => row.line)] as const;
    }),
  );
  return Object.fromEntries(tables);
}

const parts = () => ({ evidence: log.evidence, documents: jsonDocuments, store: log });
const projections = (): Projection[] => [
  documentOutcomesProjection(),
  sgtinHistoryProjection(parts()),
  outboxProjection(parts()),
  groupsProjection(),
  timelinessProjection(),
];

async function rebuilt(pageSize: number): Promise<Record<string, string[]>> {
  for (const projection of projections()) await replay(projection, pageSize);
  return dump();
}

describe('rebuild (principles 2.6)', () => {
  it('gives identical tables again, and in pages of 1, 7 and 500', async () => {
    const first = await rebuilt(500);
    for (const table of TABLES) expect([table, first[table]?.length]).not.toEqual([table, 0]);
    expect(first['document_outcome']).toHaveLength(DOCUMENTS + 6);
    expect(first['document_group']).toHaveLength(2);
    expect(await rebuilt(500)).toEqual(first);
    expect(await rebuilt(1)).toEqual(first);
    expect(await rebuilt(7)).toEqual(first);
  });

  it.each([
    ['bytes', { bytes: 6_000, items: 1_000_000 }],
    ['items', { bytes: 1_000_000_000, items: 35 }],
  ])('takes no more than so many %s into one transaction, and gives the same tables', async (what, bounds) => {
    const first = await rebuilt(500);
    const weightOf = async (event: RecordedEvent): Promise<number> => {
      const digests = [event.data['documentSha256'], event.data['receiptSha256']].filter(
        (one) => one !== undefined,
      ) as string[];
      const bytes = [...(await log.evidence.getMany(digests)).values()];
      if (what === 'bytes') return bytes.reduce((sum, one) => sum + one.length, 0);
      return bytes[0] === undefined ? 0 : (JSON.parse(bytes[0].toString()) as { items: object[] }).items.length;
    };
    // The bound on items is on rows that are written, and the outbox writes none.
    const bounded =
      what === 'bytes'
        ? [sgtinHistoryProjection({ ...parts(), bounds }), outboxProjection({ ...parts(), bounds })]
        : [sgtinHistoryProjection({ ...parts(), bounds })];
    for (const projection of bounded) {
      const transactions = await Promise.all(
        (await replay(projection, 500)).map((events) =>
          Promise.all(
            events.filter((event) => /Conclu/.test(event.type) && event.stream.startsWith('document-')).map(weightOf),
          ),
        ),
      );
      const weights = transactions.map((each) => each.reduce((sum, one) => sum + one, 0));
      const most = Math.max(...transactions.flat());
      // Rows are known once they are read, and bytes before.
      const allowed = what === 'bytes' ? bounds.bytes : bounds.items + most;
      expect(Math.max(...weights)).toBeLessThanOrEqual(Math.max(allowed, most));
      expect(transactions.length).toBeGreaterThan(5);
    }
    expect(await dump()).toEqual(first);
  });

  it('has no row outside the tables that it names', async () => {
    await rebuilt(500);
    await emptyTables(db.pool, ...projections());
    for (const lines of Object.values(await dump())) expect(lines).toEqual([]);
  });

  it('takes a page of the lists that count or fold a second time without counting it twice', async () => {
    const before = await rebuilt(500);
    for (const projection of [documentOutcomesProjection(), groupsProjection(), timelinessProjection()]) {
      const [prefix = ''] = projection.filter.streamPrefixes ?? [];
      await inTransaction(db.pool, (tx) =>
        projection.project(
          log.events.filter(
            ({ stream, type }) => stream.startsWith(prefix) && (projection.filter.types?.includes(type) ?? true),
          ),
          tx,
        ),
      );
    }
    expect(await dump()).toEqual(before);
  });
});
