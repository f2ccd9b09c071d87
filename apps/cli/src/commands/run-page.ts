import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SOFTWARE_VERSION } from '#event-store';
import { defined, PedigreeError, systemClock } from '#kernel';
import { migrateOrCheck, type Pool } from '#postgres';
import { findRun, readRunFacts, reconciliationSchema, runReport, type RunLogged } from '#reconciliation';
import { readModelSchemas } from '#read-models';
import type { CliConfig } from '../config.js';
import { out as print } from '../print.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { lookAt } from './first-steps.js';
import { isRunId, runFolder } from './run-folder.js';
import { segmentSettings } from './segment-settings.js';
import { mustHaveFolder } from './whole-file.js';

/** Writes a run about packs as a page of its own. */
export async function writeRunPage(config: CliConfig, runId: string, { out }: { out?: string }): Promise<number> {
  if (!isRunId(runId) && existsSync(join(runId, 'run.json')))
    throw new PedigreeError('invalid_parameter', `${runId}: a run by steps has no report, a run of a file has one`, {});
  const file = resolve(out ?? `report-${runId}.html`);
  mustHaveFolder('--out', file);
  const runs = join(runFolder(config, runId), '..');
  const { memoryMb, threads, folder } = segmentSettings(config);
  const { facts, logged } = await withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [reconciliationSchema, ...readModelSchemas]);
    const duck = { memoryMb, threads, temporary: join(folder, 'temporary-report') };
    return { facts: await readRunFacts(runId, { runs, db: pool, duck }), logged: await loggedOf(config, pool, runId) };
  });
  const writtenAt = systemClock.now().toISOString();
  const report = { facts, ...defined({ logged }), writtenAt, version: SOFTWARE_VERSION, firstStep: lookAt };
  writeFileSync(file, runReport(report));
  print(`${file}: ${facts.result.findings} findings, digest ${facts.result.digest}`);
  return 0;
}

async function loggedOf(config: CliConfig, pool: Pool, runId: string): Promise<RunLogged | undefined> {
  return withStore(config, pool, async (store) => {
    const run = await findRun(pool, store, runId);
    if (run?.packs === undefined) return undefined;
    const { requestedAt, actor, reason, packs } = run;
    const { calls, reading, digest } = packs.completed;
    const { standsOn } = packs.started;
    const told = { requestedAt: requestedAt.toISOString(), requestedBy: actor.name, reason, calls, digest };
    return { ...told, ...defined({ reading, standsOn }) };
  });
}
