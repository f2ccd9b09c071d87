import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { sealingOf } from '../../../apps/auditor/src/auditor.js';
import { AuditorFolder } from '../../../apps/auditor/src/memory/folder.js';
import { HistoryAlarm } from '../../../apps/auditor/src/memory/history-alarm.js';
import { HistoryWatch } from '../../../apps/auditor/src/memory/history-watch.js';
import { PostgresEventStore, readStored } from '#event-store';
import { systemClock } from '#kernel';
import { leafHash, newSigningKey, noteSigner } from '#merkle';
import type { Pool } from '#postgres';
import type { ServiceLog } from '#service';
import { runSubscription } from '#subscriptions';
import { inTurns, type Compared } from '../in-turns.js';
import { fillEvents } from './many-events.js';
import { serverCpuUs, takenSince } from '../server-cpu.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as ServiceLog;
const BARE_PAGE = 1_000;
/** About the length of a leaf that names digests. */
const LEAF = Buffer.alloc(400, 'x');

export interface SealingSizes {
  events: number;
  rounds: number;
}

export interface SealingFigures extends Compared {
  /** CPU of the server for each leaf. */
  serverUsPerLeaf: number;
}

/**
 * Leaves sealed and signed per second, by what the auditor runs, from an empty tree to the end of a filled log; beside
 * it the bare work: the rows read, and data, metadata and a leaf of usual length hashed. The first round of both warms
 * up.
 */
export async function sealing(pool: Pool, folder: string, { events, rounds }: SealingSizes): Promise<SealingFigures> {
  await fillEvents(pool, events);
  const own = (round: number): Promise<void> => sealAll(pool, join(folder, `auditor-${round}`), events);
  const bare = (): Promise<void> => readAndHash(pool, events);
  await own(-1);
  await bare();
  let serverUs = 0;
  const counted = async (round: number): Promise<void> => {
    const before = await serverCpuUs(pool);
    await own(round);
    serverUs += takenSince(before, await serverCpuUs(pool));
  };
  const compared = await inTurns(rounds, { own: counted, bare, count: events }, systemClock);
  return { ...compared, serverUsPerLeaf: serverUs / (rounds * events) };
}

/** Seals what is there with a new folder, and signs the tree once. */
async function sealAll(pool: Pool, folder: string, events: number): Promise<void> {
  await pool.query(
    `TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint; DELETE FROM checkpoint WHERE name = 'auditor'`,
  );
  const enough = new AbortController();
  const { signal } = enough;
  const store = new PostgresEventStore({ pool });
  const watch = new HistoryWatch({
    ...{ pool, store, signal, trusted: [], log: silent },
    folder: new AuditorFolder(folder),
    signer: noteSigner('bench.example/log', newSigningKey()),
    alarm: new HistoryAlarm(),
  });
  const onBatch = ({ position }: { position: bigint }): void => {
    if (position === BigInt(events)) enough.abort();
  };
  const failed: unknown[] = [];
  const onError = (error: unknown): void => {
    failed.push(error);
    enough.abort();
  };
  await runSubscription({ ...sealingOf(store), pool, handle: watch.seal, signal, onBatch, onError });
  const signed = await watch.sign();
  await store.close();
  if (failed.length > 0 || signed?.size !== events)
    throw new Error(`${signed?.size ?? 0} of ${events} events were sealed`, { cause: failed[0] });
}

async function readAndHash(pool: Pool, events: number): Promise<void> {
  let read = 0;
  for (let after = 0n; read < events;) {
    const rows = await readStored(pool, after, BARE_PAGE);
    for (const { data, metadata } of rows) {
      createHash('sha256').update(data).digest();
      createHash('sha256').update(metadata).digest();
      leafHash(LEAF);
    }
    read += rows.length;
    after = rows.at(-1)?.position ?? 0n;
    if (rows.length === 0) throw new Error(`${read} of ${events} events were read`);
  }
}
