import { pino, type Logger } from 'pino';
import { refuseUnfinishedRestore } from '#backup';
import { migrationsApplied, recordConfiguration, starterOf } from '#configuration';
import { eventStoreSchema, openEventStore, settleLog, SOFTWARE_VERSION, type EventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { systemClock } from '#kernel';
import { noteSigner, type NoteSigner } from '#merkle';
import { installationId, installationSchema, migrateOrCheck, openPool, type MigrationSet, type Pool } from '#postgres';
import { LogKeys } from '#proofs';
import { readSecretFile } from '#secret-files';
import { announcePresence, boundedLog, readVariable, serviceSchema, type ServiceLog, type Trouble } from '#service';
import { runSubscription, subscriptionsSchema, SubscriptionWatch, type Standing } from '#subscriptions';
import { tasksSchema } from '#tasks';
import { describeAuditorConfig, type AuditorConfig } from './config.js';
import { StreamCounting, type CountingParts } from './counts/counting.js';
import { RegularCounting } from './counts/regular-counting.js';
import { leafPages, pageLeaves } from './log/leaf-pages.js';
import { RegularSigning } from './log/regular-signing.js';
import { AuditorFolder } from './memory/folder.js';
import { HistoryAlarm } from './memory/history-alarm.js';
import { HistoryWatch } from './memory/history-watch.js';
import { openRegularSweep } from './sweep/open-sweep.js';
import type { SweepFigures } from './sweep/regular-sweep.js';
import { AUDITOR_SUBSCRIPTION } from './memory/hold.js';
import { Witnesses } from './witnesses/witnesses.js';

export const auditorSchemas: MigrationSet[] = [
  installationSchema,
  serviceSchema,
  eventStoreSchema,
  tasksSchema,
  subscriptionsSchema,
  evidenceSchema,
  { name: 'auditor', directory: new URL('./log/migrations/', import.meta.url) },
];

export interface RunningAuditor {
  /** Its subscription to the log, and why that fails. */
  subscriptions: Pick<SubscriptionWatch, 'failing'>;
  /** Who cosigns what it signs, and how far. */
  witnesses: Pick<Witnesses, 'standings' | 'unwitnessedSince'>;
  /** What its health tells: a subscription that is halted, checkpoints that are not signed. */
  troubles(): Trouble[];
  /** What the sweep has found, and how far it is. */
  sweep(): SweepFigures;
  /** Finishes in-flight work, then stops. */
  stop(): Promise<void>;
}

export const auditorLog = (config: AuditorConfig): Logger =>
  pino({ name: 'auditor', level: config.logLevel }, pino.destination(2));

/**
 * Seals every event of the log into the Merkle tree, and signs a checkpoint when it has grown. Several may run, each
 * with a folder of its own: one seals, the others stand by. Where the log contradicts what was signed it runs, raises
 * the alarm, and seals nothing.
 */
export async function startAuditor(
  config: AuditorConfig,
  log: ServiceLog = boundedLog(auditorLog(config)),
  alarm = new HistoryAlarm(),
): Promise<RunningAuditor> {
  const signer = signerOf(config);
  const folder = new AuditorFolder(config.folder);
  folder.read();
  const { pool, store, close } = await openLog(config);
  const stopping = new AbortController();
  const { signal } = stopping;
  const subscriptions = new SubscriptionWatch({ log });
  const { previousKeys: trusted, checkpointEveryMs: everyMs } = config;
  const watch = new HistoryWatch({ pool, store, folder, signer, trusted, alarm, log, signal });
  const counting = countingOf(config, { pool, store, signer, alarm, log, signal });
  const witnesses = new Witnesses({ ...config.witnessPolicy, pool, log });
  const signing = new RegularSigning({ watch, alarm, everyMs, log, onSigned: () => witnesses.signed() });
  const sweep = openRegularSweep(config, { store, folder, signer, log, signal });
  const sealing = { ...sealingOf(store), pool, handle: watch.seal, signal, ...subscriptions.callbacks };
  const running = [
    lookingFirst(watch, () => [runSubscription(sealing), signing.run(signal)]),
    announcePresence({ pool, program: 'auditor', signal, log, subscriptions: standingsUnder(alarm, subscriptions) }),
    counting.run(signal),
    witnesses.run(signal),
    sweep.run(),
  ];
  return {
    subscriptions,
    witnesses,
    troubles: () => [subscriptions, signing, counting, witnesses, sweep].flatMap((part) => part.troubles()),
    sweep: () => sweep.figures(),
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
      await watch.settled();
      await close();
    },
  };
}

/**
 * The newest events are held before others are sealed behind them. Whatever keeps the look from it is said at the next
 * one; nothing is sealed before one went well.
 */
async function lookingFirst(watch: HistoryWatch, run: () => Promise<unknown>[]): Promise<void> {
  await watch.look().catch(() => undefined);
  await Promise.all(run());
}

function countingOf(
  { previousKeys, checkpointEveryMs, participant }: AuditorConfig,
  {
    signer,
    alarm,
    log,
    ...parts
  }: Omit<CountingParts, 'keys' | 'participant' | 'now'> & {
    signer: NoteSigner;
    alarm: HistoryAlarm;
    log: ServiceLog;
  },
): RegularCounting {
  const keys = new LogKeys(signer, previousKeys);
  const counting = new StreamCounting({ ...parts, keys, participant, now: () => systemClock.now() });
  return new RegularCounting({ counting, alarm, everyMs: checkpointEveryMs, log });
}

/**
 * Proofs may be a second behind; few large pages cost a fraction of many small ones. Sealing may wait for days until a
 * log is mended: what is sealed then is what the log has then.
 */
export const sealingOf = (store: EventStore) => ({
  name: AUDITOR_SUBSCRIPTION,
  minPageIntervalMs: 1_000,
  batchSize: pageLeaves(store),
  readsAnew: true,
  store: leafPages(store),
});

const standingsUnder = (alarm: HistoryAlarm, subscriptions: SubscriptionWatch) => () =>
  haltedBy(alarm, subscriptions.standings());

/** Whoever asks which programs work is told at once that this one does not. */
function haltedBy(alarm: HistoryAlarm, standings: Standing[]): Standing[] {
  const raised = alarm.current();
  if (raised === undefined) return standings;
  const { since, reason } = raised;
  return standings.map(({ name }) => ({ name, state: 'halted', since: since.toISOString(), reason }));
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
  const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
  };
  try {
    await refuseUnfinishedRestore(pool);
    await migrateOrCheck(pool, auditorSchemas);
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
  const { healthPort, healthHost, logLevel, keyFile, folder, logPort, logHost, logTokenFile, ...configuration } =
    describeAuditorConfig(config);
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
          folder: folder ?? null,
          logPort: logPort ?? null,
          logHost: logHost ?? null,
          logTokenFile: logTokenFile ?? null,
        },
      },
      { part: 'schemas', state: { migrations: await migrationsApplied(pool, auditorSchemas) } },
      { part: 'software', state: { version: SOFTWARE_VERSION } },
    ],
  });
}

export const signerOf = ({ origin, keyFile }: Pick<AuditorConfig, 'origin' | 'keyFile'>): NoteSigner =>
  readVariable('AUDIT_KEY_FILE', () => noteSigner(origin, readSecretFile(keyFile).toString('utf8')));
