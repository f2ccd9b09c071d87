import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { tellBreak, type ToldBreak } from '../../../auditor/src/chain/tell-break.js';
import { AuditorFolder } from '../../../auditor/src/memory/folder.js';
import { verifierKeyOf } from '#merkle';
import { migrateOrCheck } from '#postgres';
import { breakWords, type LogKeys } from '#proofs';
import type { CliConfig } from '../config.js';
import { out, say } from '../print.js';
import { personOnHost, reasonGiven } from '../stack/host-act.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { auditorOnHost } from './audit-settings.js';

/** Progress of the reading is said again after so many events. */
const SAY_EVERY_LEAVES = 100_000;

/**
 * Tells the auditor, with a reason, that the log does not go on from what was signed. It runs where the auditor's
 * folder and key are. Prints what did not agree, and what was signed of it.
 */
export async function breakAuditLog(config: CliConfig, givenReason: string): Promise<number> {
  const reason = reasonGiven(givenReason);
  const { settings, keys } = auditorOnHost(config);
  return withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, auditorSchemas);
    const told = await withStore(config, pool, (store) =>
      tellBreak({
        pool,
        store,
        folder: new AuditorFolder(settings.folder),
        keys,
        actor: personOnHost(),
        reason,
        now: new Date(),
        participant: config.participant,
        profile: config.registryProfile,
        progress: (leaves, of) => {
          if (leaves % SAY_EVERY_LEAVES === 0) say(`read ${leaves} of ${of} events`);
        },
      }),
    );
    if (told === undefined) out('the log goes on from what the auditor has signed: there is no break to tell');
    else printTold(told, keys);
    return 0;
  });
}

function printTold({ broken, contradiction, difference }: ToldBreak, keys: LogKeys): void {
  out(contradiction);
  out(difference ?? 'every event that was signed is as it was');
  out(breakWords(broken));
  out(`For tools of others, its verifier key is ${verifierKeyOf(keys.signerAfter(broken.number))}`);
}
