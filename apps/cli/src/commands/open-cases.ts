import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { SOFTWARE_VERSION } from '#event-store';
import { defined, systemClock } from '#kernel';
import { installationId } from '#postgres';
import { CaseLog, casesAreRead, openPackCases, readRun, type Opening } from '#reconciliation';
import { reconcilerConfig } from '../../../reconciler/src/config.js';
import { ownEnvironment, type CliConfig } from '../config.js';
import { out as print, say } from '../print.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { comparisonFolder } from './run-folder.js';
import { segmentSettings } from './segment-settings.js';

export interface OpenCasesFlags {
  earlier?: string[];
  reason?: string;
  unconfirmed?: boolean;
  json?: boolean;
}

const PATIENCE_MS = 30_000;

/** Opens cases for what a comparison of packs has found, and resolves those that it looked for and did not find. */
export async function openCases(config: CliConfig, run: string, flags: OpenCasesFlags): Promise<number> {
  const folder = comparisonFolder(config, run);
  await readRun(folder);
  const opening = await withDatabase(config, async (pool, connectionString) => {
    const given = reconcilerConfig({ ...ownEnvironment(), DATABASE_URL: connectionString });
    return withStore(given, pool, async (store) => {
      await casesAreRead(pool, await store.head(), { patienceMs: PATIENCE_MS });
      const { participant, dueDays } = given;
      const says = { participant, softwareVersion: SOFTWARE_VERSION, profile: 'none' };
      const log = new CaseLog({ db: pool, store, installation: { id: await installationId(pool), ...says } });
      const { memoryMb, threads } = segmentSettings(config);
      return openPackCases(folder, {
        ...{ db: pool, log, dueDays, duck: { memoryMb, threads } },
        ...defined({
          reason: flags.reason,
          unconfirmed: flags.unconfirmed,
          earlier: flags.earlier?.map((one) => resolve(one)),
        }),
        now: systemClock.now(),
        actor: { authenticatedBy: 'database', kind: 'person', name: `${userInfo().username}@${hostname()}` },
        onWarning: say,
        onProgress: (done, all) => say(`${done} of ${all} causes`),
      });
    });
  });
  print(flags.json === true ? JSON.stringify(opening) : sentenceOf(opening, run));
  return 0;
}

const sentenceOf = ({ opened, seen, reopened, resolved, unchanged, notCovered }: Opening, run: string): string =>
  `${run}: ${opened} cases opened, ${seen} seen again, ${reopened} reopened, ${resolved} resolved, ` +
  `${unchanged} unchanged; ${notCovered} unresolved that this run could not judge`;
