import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { documentStream, type DocumentConcluded, type DocumentRegistered } from '#domain';
import { eventStoreSchema, openEventStore, type EventMetadata, type EventStore, type NewEvent } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { installationSchema, migrate, openPool, startEmbeddedPostgres, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { tasksSchema } from '#tasks';
import { namedLog } from './named-log.js';
import { thisMachine, type BenchReport } from './report.js';

const ITEMS = 25_000;
const MOST_MS = 20 * 60_000;

/** What the process of the rebuild says of itself, see rebuild-process.ts. */
export interface Rebuilt {
  seconds: number;
  rssMaxMb: number;
  transactions: number;
  longestTransactionMs: number;
}

/**
 * Rebuilds packs and outcomes over documents of 25,000 items, in a process of its own: its memory, and its longest
 * transaction.
 */
export async function rebuild(options: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const documents = options.quick ? 12 : 60;
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
    stops.push(() => postgres.stop());
    const pool = openPool({ connectionString: postgres.url, maxConnections: 4, applicationName: 'pedigree-bench' });
    stops.push(() => pool.end());
    const { EVENTSTORE_URL } = await namedLog();
    const store = await openEventStore({ pool, eventStoreUrl: EVENTSTORE_URL });
    stops.push(() => store.close());
    await fill(pool, store, documents);
    const program = fileURLToPath(new URL('./rebuild-process.js', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, postgres.url, ...(EVENTSTORE_URL === undefined ? [] : [EVENTSTORE_URL])],
      { timeout: MOST_MS },
    );
    const { seconds, rssMaxMb, transactions, longestTransactionMs } = JSON.parse(stdout) as Rebuilt;
    return {
      bench: 'rebuild',
      figures: {
        documents,
        items: documents * ITEMS,
        seconds,
        items_per_second: Math.round((documents * ITEMS) / seconds),
        rss_max_mb: rssMaxMb,
        transactions,
        longest_transaction_ms: longestTransactionMs,
      },
      ceilings: { goal_rss_max_mb: 400, transaction_limit_ms: 30_000 },
      ratios: {},
      machine: thisMachine(),
    };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

const METADATA: EventMetadata = {
  participant: 'bench',
  actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'bench',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'bench',
  causationId: 'bench',
};
const eventOf = (type: string, data: object): NewEvent => ({
  id: crypto.randomUUID(),
  type,
  schemaVersion: 1,
  data,
  metadata: METADATA,
});

const ACCEPTED = { outcome: 'accepted', docType: 701, acceptedAt: '2026-01-15T06:10:00.000Z' } as const;

async function fill(pool: Pool, store: EventStore, documents: number): Promise<void> {
  await migrate(pool, [
    installationSchema,
    eventStoreSchema,
    evidenceSchema,
    tasksSchema,
    subscriptionsSchema,
    ...readModelSchemas,
  ]);
  const evidence = new PostgresEvidenceStore({ pool });
  for (let n = 0; n < documents; n += 1) {
    const xml = Buffer.from(documentXml(n));
    const [documentSha256, receiptSha256] = [
      await evidence.put(xml, 'application/xml'),
      await evidence.put(Buffer.from(receiptXml(n)), 'application/xml'),
    ];
    const requestId = `bench-${n}`;
    const registered: DocumentRegistered['data'] = {
      requestId,
      commandId: `command-${n}`,
      account: 'north',
      docType: 701,
      documentSha256,
      byteLength: xml.length,
      itemCount: ITEMS,
      subjectId: '00000000000464',
      operationDate: '2026-01-15T09:00:00+03:00',
      after: [],
    };
    const concluded: DocumentConcluded['data'] = { ...ACCEPTED, documentSha256, receiptSha256 };
    await store.append(documentStream(requestId), 'none', [
      eventOf('DocumentRegistered', registered),
      eventOf('DocumentConcluded', concluded),
    ]);
  }
}

function documentXml(n: number): string {
  const prefix = `04600000000015B${String(n).padStart(4, '0')}`;
  let items = '';
  for (let item = 0; item < ITEMS; item += 1) items += `<sgtin>${prefix}${String(item).padStart(8, '0')}</sgtin>`;
  return (
    '<documents version="1.38"><accept action_id="701"><subject_id>00000000000464</subject_id>' +
    '<counterparty_id>00000000000470</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date>' +
    `<order_details>${items}</order_details></accept></documents>`
  );
}

const receiptXml = (n: number): string =>
  '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T06:10:00.000Z">' +
  `<operation>701</operation><operation_id>${crypto.randomUUID()}-${n}</operation_id>` +
  '<operation_result>Accepted</operation_result></result></documents>';
