import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { exportLog } from '../../../auditor/src/publication/export.js';
import { checkVisits, visitFile } from '../../../auditor/src/visit/visit.js';
import { migrateOrCheck } from '#postgres';
import { trustedWitnesses } from '#proofs';
import type { CliConfig } from '../config.js';
import { out, say } from '../print.js';
import { recordHostExport } from '../stack/host-export.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import type { VerifyOptions } from './audit-proof.js';
import { mustBeKeys, neededWitnesses, witnessedAnswer, witnessedWords } from './audit-witnessed.js';

/** Progress of an export is said again after so many events. */
const SAY_EVERY_LEAVES = 102_400;

/** Prints what an auditor takes home; with `since` the proof that the log only grew since that file. */
export const visit = (config: CliConfig, since: string | undefined): Promise<number> =>
  withDatabase(config, async (pool) => {
    const before = since === undefined ? undefined : readFileSync(since, 'utf8');
    await migrateOrCheck(pool, auditorSchemas);
    process.stdout.write(await visitFile(pool, before));
    return 0;
  });

/** Checks two visits; needs no database and no network. Status 1 where too few witnesses have seen the second. */
export function verifyVisit([since, file]: [string, string], options: VerifyOptions): number {
  const { key, witness = [], needed, json } = options;
  mustBeKeys(key);
  const trusted = trustedWitnesses(witness, neededWitnesses(needed));
  const files: [string, string] = [readFileSync(since, 'utf8'), readFileSync(file, 'utf8')];
  const { before, now, witnessed } = checkVisits(files, key, trusted);
  const { origin, size } = now;
  if (json === true) out(JSON.stringify({ origin, before_size: before.size, size, ...witnessedAnswer(witnessed) }));
  else
    out(
      [
        `the log ${origin} of ${size} events begins with the ${before.size} events of the earlier visit: it only grew`,
        ...witnessedWords(witnessed),
      ].join('\n'),
    );
  return witnessed.isMet ? 0 : 1;
}

/** Writes the whole log into a folder, for the tools of others; run again, it goes on. */
export const exportWholeLog = (config: CliConfig, folder: string): Promise<number> =>
  withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, auditorSchemas);
    const place = resolve(folder);
    const filter = { folder: place };
    const onBegin = () =>
      recordHostExport(config, pool, { what: 'pedigree audit export', format: 'tlog-tiles', filter });
    await mkdir(place, { recursive: true });
    const progress = (leaves: number, of: number): void => {
      if (leaves % SAY_EVERY_LEAVES === 0) say(`wrote ${leaves} of ${of} events`);
    };
    const { size, written, large } = await withStore(config, pool, (store) =>
      exportLog({ pool, store, folder: place, onBegin, progress }),
    );
    out(`${place} has the log of ${size} events; ${written} of them were written now`);
    if (large.length > 0)
      out(`${large.length} events are longer than a bundle allows: they are empty there, and whole in large-entry`);
    return 0;
  });
