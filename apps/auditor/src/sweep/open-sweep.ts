import type { EventStore } from '#event-store';
import { systemClock } from '#kernel';
import type { NoteSigner } from '#merkle';
import { installationId, openPool } from '#postgres';
import { LogKeys } from '#proofs';
import type { ServiceLog, Trouble } from '#service';
import type { AuditorConfig } from '../config.js';
import type { AuditorFolder } from '../memory/folder.js';
import { RegularSweep, type SweepFigures } from './regular-sweep.js';
import { StateFile } from './state-file.js';
import { SweepEvents } from './sweep-events.js';

interface OpenSweep {
  /** Until the signal; then what it opened is closed. Never rejects. */
  run(): Promise<void>;
  troubles(): Trouble[];
  figures(): SweepFigures;
}

interface SweepOn {
  store: EventStore;
  folder: AuditorFolder;
  signer: NoteSigner;
  log: ServiceLog;
  signal: AbortSignal;
}

/** The sweep of an auditor, with connections of its own: what it reads holds up nobody who seals. */
export function openRegularSweep(
  { databaseUrl, previousKeys, participant, witnessPolicy, sweepEveryMs, sweepBytesPerSecond }: AuditorConfig,
  { store, folder, signer, log, signal }: SweepOn,
): OpenSweep {
  const pool = openPool({ connectionString: databaseUrl, maxConnections: 3, applicationName: 'pedigree-sweep' });
  const events = new SweepEvents({
    store,
    installation: () => installationId(pool),
    participant,
    profile: 'none',
    actor: { kind: 'system', name: 'auditor', authenticatedBy: 'process' },
    now: () => systemClock.now(),
  });
  const sweep = new RegularSweep({
    ...{ pool, store, folder, log, signal, events },
    connectionString: databaseUrl,
    keys: new LogKeys(signer, previousKeys),
    witnesses: witnessPolicy.witnesses.map(({ key }) => key),
    keeper: new StateFile(folder.path, log),
    everyMs: sweepEveryMs,
    bytesPerSecond: sweepBytesPerSecond,
  });
  return {
    run: () => sweep.run(signal).finally(() => pool.end()),
    troubles: () => sweep.troubles(),
    figures: () => sweep.figures(),
  };
}
