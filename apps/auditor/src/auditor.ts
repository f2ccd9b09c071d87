import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore } from '#backup';
import { migrationsApplied, recordConfiguration, starterOf } from '#configuration';
import { eventStoreSchema, openEventStore, settleLog, SOFTWARE_VERSION, type EventStore } from '#event-store';
import { noteSigner, type NoteSigner } from '#merkle';
import { installationId, installationSchema, migrate, openPool, type MigrationSet, type Pool } from '#postgres';
import { readSecretFile } from '#secret-files';
import { announcePresence, boundedLog, readVariable, serviceSchema, type ServiceLog, type Trouble } from '#service';
import { runSubscription, subscriptionsSchema, SubscriptionWatch } from '#subscriptions';
import { tasksSchema } from '#tasks';
import { describeAuditorConfig, type AuditorConfig } from './config.js';
import { RegularSigning } from './log/regular-signing.js';
import { seal } from './log/seal.js';

export const auditorSchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  eventStoreSchema,
  tasksSchema,
  subscriptionsSchema,
  { name: 'auditor', directory: new URL('./log/migrations/', import.meta.url) },
];

/** Name of the subscription, as `GET /v1/operations` shows it. */
const AUDITOR_SUBSCRIPTION = 'auditor';

export interface RunningAuditor {
  /** Its subscription to the log, and why that fails. */
  subscriptions: Pick<SubscriptionWatch, 'failing'>;
  /** What its health tells: a subscription that is halted, checkpoints that are not signed. */
  troubles(): Trouble[];
  /** Finishes in-flight work, then stops. */
  stop(): Promise<void>;
}

export const auditorLog = (config: AuditorConfig): Logger =>
  pino({ name: 'auditor', level: config.logLevel }, pino.destination(2));

/**
 * Seals every event of the log into the Merkle tree, and signs a checkpoint when it has grown. Several may run: one
 * seals, the others stand by.
 */
export async function startAuditor(
  config: AuditorConfig,
  log: ServiceLog = boundedLog(auditorLog(config)),
): Promise<RunningAuditor> {
  const signer = signerOf(config);
  const { pool, store, close } = await openLog(config);
  const stopping = new AbortController();
  const { signal } = stopping;
  const subscriptions = new SubscriptionWatch({ log });
  const { previousKeys: trusted, checkpointEveryMs: everyMs } = config;
  const signing = new RegularSigning({ pool, signer, trusted, everyMs, log });
  const running = [
    runSubscription({
      store,
      pool,
      name: AUDITOR_SUBSCRIPTION,
      handle: seal,
      signal,
      // Proofs may be a second behind; few large pages cost a fraction of many small ones.
      minPageIntervalMs: 1_000,
      batchSize: 1_000,
      ...subscriptions.callbacks,
    }),
    announcePresence({ pool, program: 'auditor', signal, log, subscriptions: () => subscriptions.standings() }),
    signing.run(signal),
  ];
  return {
    subscriptions,
    troubles: () => [...subscriptions.troubles(), ...signing.troubles()],
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      await close();
    },
  };
}

interface OpenLog {
  pool: Pool;
  store: EventStore;
  close(): Promise<void>;
}

/** The log and its database, ready to be sealed. Leaves nothing open when it throws. */
async function openLog(config: AuditorConfig): Promise<OpenLog> {
  const pool = openPool({
    connectionString: config.databaseUrl,
    maxConnections: 4,
    applicationName: 'pedigree-auditor',
  });
  const store = openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
  };
  try {
    await refuseUnfinishedRestore(pool);
    await migrate(pool, auditorSchemas);
    await settleLog({ ...config, db: pool, store, program: 'auditor' });
    await recordSettings(config, { pool, store });
  } catch (error) {
    await close();
    throw error;
  }
  return { pool, store, close };
}

/** What this auditor is set to stands in the log before it seals anything. */
async function recordSettings(
  config: AuditorConfig,
  { pool, store }: { pool: Pool; store: EventStore },
): Promise<void> {
  const { healthPort, healthHost, logLevel, keyFile, ...configuration } = describeAuditorConfig(config);
  await recordConfiguration({
    store,
    program: 'auditor',
    actor: starterOf(config.changedBy),
    reason: config.changeReason,
    installation: {
      id: await installationId(pool),
      participant: config.participant,
      softwareVersion: SOFTWARE_VERSION,
      profile: 'none',
    },
    parts: [
      {
        part: 'configuration',
        state: configuration,
        local: {
          healthPort: healthPort ?? null,
          healthHost: healthHost ?? null,
          logLevel: logLevel ?? null,
          keyFile: keyFile ?? null,
        },
      },
      { part: 'schemas', state: { migrations: await migrationsApplied(pool, auditorSchemas) } },
      { part: 'software', state: { version: SOFTWARE_VERSION } },
    ],
  });
}

const signerOf = ({ origin, keyFile }: AuditorConfig): NoteSigner =>
  readVariable('AUDIT_KEY_FILE', () => noteSigner(origin, readSecretFile(keyFile).toString('utf8')));
