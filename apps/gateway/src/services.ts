import { openBus, type MessageBus } from '#bus';
import { openEventStore, SOFTWARE_VERSION, type EventStore, type Says } from '#event-store';
import { PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import { openPool, type Pool } from '#postgres';
import type { ServiceLog } from '#service';
import { PostgresTaskQueue } from '#tasks';
import type { Watching } from '#telemetry';
import type { GatewayConfig } from './config.js';

/** What every part of the gateway is built on. */
export interface Services {
  pool: Pool;
  store: EventStore;
  queue: PostgresTaskQueue;
  bus: MessageBus;
  evidence: EvidenceStore;
  log: ServiceLog;
  watching: Watching;
  /** What this gateway says of itself in every event. */
  says: Says;
}

/** Opens the connections; nothing is asked over them yet. */
export async function openServices(
  { databaseUrl, eventStoreUrl, bus: busOptions, participant, profile }: GatewayConfig,
  { log, watching }: Pick<Services, 'log' | 'watching'>,
): Promise<Services & { close(): Promise<void> }> {
  const pool = openPool({ connectionString: databaseUrl, maxConnections: 8, applicationName: 'pedigree-gateway' });
  const store = await openEventStore({ pool, eventStoreUrl });
  const queue = new PostgresTaskQueue({ pool });
  const bus = openBus({
    ...busOptions,
    pool,
    connectionName: 'pedigree-gateway',
    report: (problem) => log.warn({ problem }, 'the bus has a problem'),
  });
  const close = async (): Promise<void> => {
    await watching.tracing.close();
    await bus.close();
    await store.close();
    await queue.close();
    await pool.end();
  };
  const says = { participant, profile, softwareVersion: SOFTWARE_VERSION };
  return { pool, store, queue, bus, evidence: new PostgresEvidenceStore({ pool }), log, watching, says, close };
}
