import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { AuditorFolder } from '../../../auditor/src/memory/folder.js';
import { COPY_PREFIX } from '../../../auditor/src/sweep/models-check.js';
import { StateInMemory } from '../../../auditor/src/sweep/state-file.js';
import { Sweep, type SweepEnded, type SweepProgress } from '../../../auditor/src/sweep/sweep.js';
import { SweepEvents } from '../../../auditor/src/sweep/sweep-events.js';
import { PedigreeError } from '#kernel';
import { installationId, migrateOrCheck } from '#postgres';
import type { CliConfig } from '../config.js';
import { out, say, table } from '../print.js';
import { personOnHost } from '../stack/host-act.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { auditorOnHost } from './audit-settings.js';

const SAY_EVERY_MS = 5_000;

export interface CheckFlags {
  json?: boolean;
  mbPerSecond?: number;
}

/**
 * One whole sweep over log, evidence and read models, from the beginning to the end, on the host of the auditor. 0
 * where everything is as it was signed, 1 where something was found or could not be looked at.
 */
export async function checkAudit(config: CliConfig, { json = false, mbPerSecond }: CheckFlags): Promise<number> {
  const { settings, keys } = auditorOnHost(config);
  return withDatabase(config, async (pool, connectionString) => {
    await migrateOrCheck(pool, auditorSchemas);
    return withStore(config, pool, async (store) => {
      const events = new SweepEvents({
        store,
        installation: () => installationId(pool),
        participant: config.participant,
        profile: config.registryProfile,
        actor: personOnHost(),
        now: () => new Date(),
      });
      const outcome = await new Sweep({
        ...{ pool, connectionString, store, keys, events },
        witnesses: settings.witnessPolicy.witnesses.map(({ key }) => key),
        folder: new AuditorFolder(settings.folder),
        keeper: new StateInMemory(),
        prefix: COPY_PREFIX.check,
        bytesPerSecond: mbPerSecond === undefined ? undefined : mbPerSecond * 1_000_000,
        signal: new AbortController().signal,
        onProgress: sayProgress(),
      }).runPass();
      if (outcome === 'nothing_signed')
        throw new PedigreeError('unavailable', 'nothing is signed in AUDIT_FOLDER yet; is an auditor running?');
      if (outcome === 'ended_early')
        throw new PedigreeError('unavailable', 'a break of the log was told meanwhile; check again');
      print(outcome, json);
      return outcome.findings.length + outcome.skipped.length === 0 ? 0 : 1;
    });
  });
}

function sayProgress(): (progress: SweepProgress) => void {
  let saidAtMs = performance.now();
  return ({ part, share, counts, findings }) => {
    if (performance.now() - saidAtMs < SAY_EVERY_MS) return;
    saidAtMs = performance.now();
    const done = `${(share * 100).toFixed(0)} %, ${part}`;
    say(`${done}: ${counts.events} events, ${counts.evidence} evidence, ${counts.rows} rows, ${findings} findings`);
  };
}

function print({ counts, findings, untold, skipped }: SweepEnded, json: boolean): void {
  const found = findings.map(({ what, where, expected, found: there }) => ({ what, where, expected, found: there }));
  if (json) return out(JSON.stringify({ ...counts, findings: found, untold, skipped }));
  if (found.length > 0)
    out(
      table(
        ['what', 'where', 'expected', 'found'],
        found.map((one) => [one.what, one.where, one.expected, one.found]),
      ),
    );
  for (const [what, count] of Object.entries(untold)) out(`and ${count} more of the kind ${what}`);
  for (const one of skipped) out(`not compared: ${one}`);
  const { events, evidence, rows } = counts;
  const looked = `${events} events, ${evidence} pieces of evidence and ${rows} rows of read models`;
  out(found.length === 0 ? `${looked} are as they were signed` : `${looked} were looked at: ${found.length} findings`);
}
