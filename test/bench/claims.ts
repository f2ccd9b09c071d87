import { documentStream } from '#domain';
import { documentReading } from '#documents';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { catchUpItemClaims, itemClaimsSchema } from '#item-claims';
import type { Sha256 } from '#kernel';
import { installationSchema, migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { eventOf } from './movement-log.js';
import { onDatabase, type BenchDatabase } from './on-database.js';
import { thisMachine, type BenchReport } from './report.js';
import { serverCpuUs, takenSince } from './server-cpu.js';

const GTIN = '04600000000015';
/** How many packs a document names, and whether each second one names a pack of the one before. */
const SHAPES = [
  { name: 'of_1', packs: 1, isShared: false },
  { name: 'of_10', packs: 10, isShared: false },
  { name: 'of_100', packs: 100, isShared: false },
  { name: 'of_10_shared', packs: 10, isShared: true },
] as const;
type Shape = (typeof SHAPES)[number];
const CLAIM_TABLES = ['claim_holder', 'item_claim', 'item_wait', 'item_container'];

interface Taken {
  ownCpuMs: number;
  serverCpuMs: number;
}

/**
 * What waiting by items costs a document: CPU of the subscription and of its server, rows written and left, from the
 * registration to the planned send, and at the end. The plan of the first send is part of it.
 */
export async function claims({ quick }: { quick: boolean }): Promise<BenchReport> {
  const documents = quick ? 400 : 4_000;
  const figures: Record<string, number> = { documents };
  for (const shape of SHAPES) {
    const told = await onDatabase((database) => measured(database, shape, documents));
    for (const [name, value] of Object.entries(told)) figures[`${shape.name}_${name}`] = value;
  }
  return { bench: 'claims', figures, ceilings: {}, ratios: {}, machine: thisMachine() };
}

async function measured(database: BenchDatabase, shape: Shape, documents: number): Promise<Record<string, number>> {
  const { pool, stops } = database;
  await migrate(pool, [
    ...[installationSchema, eventStoreSchema, evidenceSchema, tasksSchema, subscriptionsSchema],
    ...[...readModelSchemas, itemClaimsSchema],
  ]);
  const store = new PostgresEventStore({ pool });
  stops.push(() => store.close());
  const evidence = new PostgresEvidenceStore({ pool });
  const queue = new PostgresTaskQueue({ pool });
  const subscription = { store, pool, evidence, documents: documentReading(), queue };
  const all = await registrations(evidence, shape, documents);
  const append = async (type: string, dataOf: (one: Registered) => object): Promise<void> => {
    for (const one of all) await store.append(documentStream(one.requestId), 'any', [eventOf(type, dataOf(one))]);
    await pool.query('ANALYZE');
  };
  await append('DocumentRegistered', (one) => one);
  const begun = await taken(pool, () => catchUpItemClaims(subscription));
  const [rows, tasks] = [await rowsOf(pool, CLAIM_TABLES), await rowsOf(pool, ['task'])];
  await append('DocumentConcluded', ({ docType, documentSha256 }) => ({
    outcome: 'accepted',
    docType,
    documentSha256,
  }));
  const ended = await taken(pool, () => catchUpItemClaims(subscription));
  const each = (value: number): number => Math.round((value / documents) * 1_000) / 1_000;
  return {
    own_cpu_ms_per_document: each(begun.ownCpuMs + ended.ownCpuMs),
    server_cpu_ms_per_document: each(begun.serverCpuMs + ended.serverCpuMs),
    rows_per_document: each(rows),
    tasks_per_document: each(tasks),
    rows_left: await rowsOf(pool, CLAIM_TABLES),
  };
}

interface Registered {
  requestId: string;
  docType: number;
  documentSha256: Sha256;
}

/** In log order, with their evidence. */
async function registrations(evidence: PostgresEvidenceStore, shape: Shape, documents: number): Promise<Registered[]> {
  const all: Registered[] = [];
  for (let n = 0; n < documents; n += 1) {
    const xml = Buffer.from(documentXml(shape, n));
    all.push({
      ...{ requestId: `bench-${n}`, commandId: `bench-${n}`, account: 'main', docType: 415, after: [] },
      ...{ documentSha256: await evidence.put(xml, 'application/xml'), byteLength: xml.length },
      ...{ itemCount: shape.packs, subjectId: '00000000000464', operationDate: '2026-01-15T09:00:00+03:00' },
    });
  }
  return all;
}

async function taken(pool: Pool, work: () => Promise<unknown>): Promise<Taken> {
  const [cpu, server] = [process.cpuUsage(), await serverCpuUs(pool)];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ownCpuMs: (user + system) / 1_000, serverCpuMs: takenSince(server, await serverCpuUs(pool)) / 1_000 };
}

async function rowsOf(pool: Pool, tables: readonly string[]): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table})`);
  const { rows } = await pool.query<{ n: number }>(`SELECT (${counts.join(' + ')})::int AS n`);
  return rows[0]?.n ?? 0;
}

function documentXml({ packs, isShared }: Shape, n: number): string {
  const first = isShared && n % 2 === 1 ? n - 1 : n;
  let items = '';
  for (let pack = 0; pack < packs; pack += 1) {
    const number = (pack === 0 ? first : n) * packs + pack;
    items += `<sgtin>${GTIN}B${String(number).padStart(12, '0')}</sgtin>`;
  }
  return (
    '<documents version="1.38"><move_order action_id="415"><subject_id>00000000000464</subject_id>' +
    '<receiver_id>00000000000470</receiver_id><operation_date>2026-01-15T09:00:00+03:00</operation_date>' +
    `<order_details>${items}</order_details></move_order></documents>`
  );
}
