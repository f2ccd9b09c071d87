import {
  foundSince,
  heldTooLong,
  listsSince,
  markRestored,
  newestRestoration,
  ON_A_SERVER,
  releaseRestoration,
  restoreBackup,
  takeBackup,
  type Restoration,
} from '#backup';
import { newEvent, SOFTWARE_VERSION } from '#event-store';
import { invalidConfiguration, invalidParameter, PedigreeError, uuid5, type JsonObject } from '#kernel';
import { inTransaction, migrate, type Pool } from '#postgres';
import { readAccounts } from '#registry-client';
import type { CliConfig } from '../config.js';
import { out, say, table } from '../print.js';
import { allSchemas } from '../schemas.js';
import { personOnHost, reasonGiven, saidBy } from '../stack/host-act.js';
import { recordHostExport } from '../stack/host-export.js';
import { withDatabase, withStore } from '../stack/with-database.js';

/** Progress of a table is said again after so many rows. */
const SAY_EVERY_ROWS = 50_000;
const KEYS_ARE_SUSPENDED =
  'Every API key is suspended, for one may have been revoked since: pedigree keys list shows them; of each say ' +
  'pedigree keys confirm NAME --reason TEXT, or revoke it.';

/** Writes the backup to a new file. Everything may go on running. */
export async function backup(config: CliConfig, file: string): Promise<number> {
  if (config.eventStoreUrl !== undefined)
    throw new PedigreeError('invalid_configuration', ON_A_SERVER, { field: 'EVENTSTORE_URL' });
  const said = new Map<string, number>();
  const progress = (name: string, rows: number): void => {
    if (rows < (said.get(name) ?? 0) + SAY_EVERY_ROWS) return;
    said.set(name, rows);
    say(`${name}: ${rows} rows`);
  };
  const { header, rows, sha256 } = await withDatabase(config, async (pool) => {
    const onBegin = () =>
      recordHostExport(config, pool, { what: 'pedigree backup', format: 'backup', filter: { file } });
    return takeBackup({ pool, file, softwareVersion: SOFTWARE_VERSION, progress, onBegin });
  });
  out(`${file}: the log up to event ${header.logHead} with all that belongs to it, as of ${header.takenAt}`);
  out(
    `${rows['evidence'] ?? 0} pieces of evidence, ${rows['command'] ?? 0} commands, ${rows['task'] ?? 0} tasks; ` +
      `SHA-256 of the content ${sha256}`,
  );
  out(
    `Not in it: the encryption key (${config.keyFile}), the accounts file and the keys and certificates that it ` +
      'names. Keep them as well, elsewhere.',
  );
  return isWholeLog(header.logHead, rows['event'] ?? 0) ? 0 : 1;
}

/** Positions have no gap: where events are missing, somebody removed them, and the backup has what is left. */
function isWholeLog(logHead: string, events: number): boolean {
  if (BigInt(events) === BigInt(logHead)) return true;
  say(`the log ends with event ${logHead} and has only ${events}: some were removed, and this backup lacks them too`);
  return false;
}

/** Loads a backup into a new database; the worker then compares it with the registry before anything leaves. */
export async function restore(config: CliConfig, file: string): Promise<number> {
  if (config.eventStoreUrl !== undefined)
    throw new PedigreeError('invalid_configuration', ON_A_SERVER, { field: 'EVENTSTORE_URL' });
  return withDatabase({ ...config, restores: true }, async (pool) => {
    await refuseRunning(pool, 'restore');
    say(`checking ${file}`);
    const progress = (name: string, rows: number, of: number): void => {
      if (rows === of || rows % SAY_EVERY_ROWS === 0) say(`${name}: ${rows} of ${of} rows`);
    };
    const { restoration, summary } = await restoreBackup({
      pool,
      file,
      schemas: allSchemas(),
      by: personOnHost().name,
      progress,
      beforeRelease: (begun) => note(config, pool, { restoration: begun, type: 'BackupRestored' }),
    });
    out(`restored: the log up to event ${summary.header.logHead}, as of ${restoration.takenAt.toISOString()}`);
    out(
      'Start the programs with the key file and the accounts of then. Nothing leaves for the registry before the ' +
        'document lists since the backup were read; pedigree restore --status tells.',
    );
    out(KEYS_ARE_SUSPENDED);
    out(
      `Whoever reads outcomes by a cursor goes on from event ${summary.header.logHead}; the ERP gives its ` +
        'messages since the backup again.',
    );
    return 0;
  });
}

/**
 * For databases that were brought back by other means, of which this program knows nothing: what a restore ends with.
 */
export async function mark(config: CliConfig, takenAt: string): Promise<number> {
  const instant = new Date(takenAt);
  if (!/^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/.test(takenAt) || Number.isNaN(instant.getTime())) {
    throw invalidParameter('--mark', `${takenAt} is not an instant with its zone, as 2026-11-21T10:00:00Z`);
  }
  if (instant > new Date()) throw invalidParameter('--mark', `${takenAt} is still to come`);
  return withDatabase({ ...config, restores: true }, async (pool) => {
    await refuseRunning(pool, '--mark');
    await migrate(pool, allSchemas());
    await inTransaction(pool, async (tx) => {
      const restoration = await markRestored(tx, { takenAt: instant, by: personOnHost().name });
      // By a session of its own, and first: a mark without its event would leave revoked keys in force.
      await note(config, pool, { restoration, type: 'BackupRestored' });
    });
    out(
      'marked: nothing leaves for the registry before the document lists since then were read; pedigree restore ' +
        '--status tells',
    );
    out(KEYS_ARE_SUSPENDED);
    return 0;
  });
}

/** A program that runs already would not see it. */
async function refuseRunning(pool: Pool, doing: string): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    'SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND ' +
      `application_name LIKE 'pedigree%' AND application_name NOT IN ('pedigree-cli', 'pedigree-test')`,
  );
  if (rows.length > 0)
    throw invalidConfiguration(
      doing,
      `${rows.map((row) => row.name).join(', ')} still runs on this database; stop it first`,
    );
}

/** Prints how far the comparison has come. Returns 0 when nothing is held back, 2 when something is. */
export async function restorationStatus(config: CliConfig, json: boolean): Promise<number> {
  return withDatabase({ ...config, restores: true }, async (pool) => {
    const restoration = await newestRestoration(pool);
    if (restoration === undefined) {
      out(json ? '{}' : 'this database was never restored');
      return 0;
    }
    const accounts = accountNames(config);
    const isLoading = restoration.state === 'loading';
    const lists = isLoading ? [] : await listsSince(pool, restoration, accounts);
    const found = isLoading ? { incoming: 0, outgoing: 0 } : await foundSince(pool, restoration);
    if (json)
      out(
        JSON.stringify({ restoration, lists, found }, (_, value: unknown) =>
          typeof value === 'bigint' ? value.toString() : value,
        ),
      );
    else {
      out(restorationSentence(restoration));
      out(listsTable(lists));
      const late = await heldTooLong(pool, accounts);
      if (late !== undefined) out(late);
      out(`new to this database: ${found.outgoing} outgoing, ${found.incoming} incoming documents`);
    }
    return restoration.state === 'released' ? 0 : 2;
  });
}

function restorationSentence({ state, takenAt, restoredBy, releasedAt }: Restoration): string {
  const released = releasedAt === null ? '' : `, released at ${releasedAt.toISOString()}`;
  return `${state}: the backup of ${takenAt.toISOString()}, restored by ${restoredBy}${released}`;
}

const listsTable = (lists: Awaited<ReturnType<typeof listsSince>>): string =>
  table(
    ['account', 'list', 'read', 'up to', 'problem'],
    lists.map(({ account, list, isRead, since, problem }) => [
      ...[account, list, isRead ? 'yes' : 'not yet'],
      ...[since?.toISOString() ?? '', problem ?? ''],
    ]),
  );

/** A list that was never read has no row yet; the accounts say that there is one. */
function accountNames({ accountsFile }: CliConfig): string[] {
  try {
    return readAccounts(accountsFile).map((one) => one.name);
  } catch {
    // Whoever looks from a machine without the file, or without its secrets, sees what the database knows.
    return [];
  }
}

/** Ends the comparison by a person's word: for a list that the registry will not give any more. */
export async function release(config: CliConfig, givenReason: string): Promise<number> {
  const reason = reasonGiven(givenReason);
  return withDatabase({ ...config, restores: true }, async (pool) => {
    const newest = await newestRestoration(pool);
    if (newest?.state !== 'comparing')
      throw new PedigreeError(
        'invalid_parameter',
        newest === undefined
          ? 'this database was never restored'
          : `the restoration is ${newest.state}, and there is nothing to release`,
      );
    await note(config, pool, { restoration: newest, type: 'RestorationReleased', reason });
    await releaseRestoration(pool, newest.id);
    out('released: documents leave again');
    return 0;
  });
}

/** What was done goes into the log. The id follows from the restoration, so that doing it again says nothing twice. */
async function note(
  config: CliConfig,
  pool: Pool,
  {
    restoration,
    type,
    reason,
  }: { restoration: Restoration; type: 'BackupRestored' | 'RestorationReleased'; reason?: string },
): Promise<void> {
  const { id, takenAt, backupSha256, logHead, restoredBy } = restoration;
  const data: JsonObject = {
    restorationId: id,
    takenAt: takenAt.toISOString(),
    restoredBy,
    ...(backupSha256 === null ? {} : { backupSha256 }),
    ...(logHead === null ? {} : { logHead: logHead.toString() }),
    ...(type === 'RestorationReleased' ? { compared: false } : {}),
  };
  const ids = { id: uuid5(type, id), correlationId: id, causationId: `restore:${id}` };
  const cause = { says: saidBy(config), actor: personOnHost(), reason, at: new Date(), ...ids };
  await withStore(config, pool, (store) => store.append('operations', 'any', [newEvent({ type, data }, cause)]));
}

export interface RestoreFlags {
  status?: boolean;
  json?: boolean;
  mark?: string;
  release?: boolean;
  reason?: string;
}

export function runRestore(config: CliConfig, file: string | undefined, flags: RestoreFlags): Promise<number> {
  const chosen = [file !== undefined, flags.status === true, flags.mark !== undefined, flags.release === true].filter(
    Boolean,
  ).length;
  if (chosen !== 1)
    throw new PedigreeError(
      'invalid_configuration',
      'restore: give a FILE, or one of --status, --mark INSTANT and --release',
    );
  if (flags.status === true) return restorationStatus(config, flags.json === true);
  if (flags.mark !== undefined) return mark(config, flags.mark);
  if (flags.release === true) return release(config, flags.reason ?? '');
  return restore(config, file as string);
}
