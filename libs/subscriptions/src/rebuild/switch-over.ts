import type { EventStore } from '#event-store';
import { inTransaction, type Transaction } from '#postgres';
import { lockCheckpoint, moveCheckpoint, openCheckpoint } from '../checkpoint.js';
import { handlePageIn, type Handle } from '../page.js';
import { projectionCheckpoint, type Projection } from '../projection.js';
import { fitsLive, misfit, type Copy, type CopyParts } from './copy-schema.js';
import { differencesOf, OWN_TABLES, tablesOf } from './table-traits.js';

/** The copy is put in the place of the live tables. */
export interface Switched {
  position: bigint;
  /** For how long nobody could read the live tables. Milliseconds. */
  lockedMs: number;
}

export interface SwitchParts extends CopyParts {
  projection: Projection;
  store: EventStore;
  /** Name under which this run holds checkpoints. */
  holder: string;
  alongSwitch?: AlongSwitch;
}

/** Part of the switch: for what was made from the live tables, and would go on telling of their rows. */
export interface AlongSwitch {
  /** Keeps others from it. Comes first: nobody else waits meanwhile. */
  lock(tx: Transaction): Promise<void>;
  change(tx: Transaction): Promise<void>;
}

/** Pages of events that are taken while the live projection waits. */
const MOST_LAST_PAGES = 4;
const PAGE = 500;
/** A page of the live projection may last 30 s, but this transaction waits for it in its own time. */
const CHECKPOINT_WAIT_MS = 10_000;
/** Longer than `deadlock_timeout`, so that a vacuum in the way gives up. Readers and writers are not in the way. */
const VACUUM_WAIT_MS = 3_000;

/** For others who use what was made from the live tables. */
const ALONG_WAIT_MS = 10_000;

/** What the switch waited for is still in use: a page, a reader. Nothing was changed; it is tried again. */
export const isInUse = (error: unknown): boolean =>
  ['55P03', '40P01', '25P04'].includes(String((error as { code?: unknown } | undefined)?.code));

/**
 * Switches in one transaction: holds the live checkpoint, takes the last events into the copy, drops the live tables,
 * moves the tables of the copy to their place, and moves the checkpoint to where the copy stands. A crash before the
 * commit leaves all as it was, and one after it leaves nothing to do. `undefined` when the copy is too far behind.
 * @param readersWaitMs how long readers may wait while a lock is waited for; below `deadlock_timeout` (1 s), so that
 *   none of them is ended for a deadlock with it.
 */
export async function switchOver(parts: SwitchParts, copy: Copy, readersWaitMs: number): Promise<Switched | undefined> {
  const { pool, model } = parts;
  return inTransaction(
    pool,
    async (tx) => {
      const name = projectionCheckpoint(parts.projection);
      await waitFor(tx, ALONG_WAIT_MS);
      await parts.alongSwitch?.lock(tx);
      await waitFor(tx, CHECKPOINT_WAIT_MS);
      const live = await lockCheckpoint(tx, name, { holder: parts.holder, waits: true });
      if (live === undefined) throw new Error(`the checkpoint of ${name} was removed while it was rebuilt`);
      const position = await takeLast(tx, parts, { copy, upTo: live.position });
      if (position === undefined) return undefined;
      await parts.alongSwitch?.change(tx);
      const lockedMs = await swapTables(tx, parts, { copy, readersWaitMs });
      await moveCheckpoint(tx, name, { position, holder: parts.holder, leaseMs: 0 });
      return { position, lockedMs };
    },
    { name: `switch of ${model}` },
  );
}

const waitFor = (tx: Transaction, waitMs: number) =>
  tx.query(`SELECT set_config('lock_timeout', $1, true)`, [String(waitMs)]);
const lookIn = (tx: Transaction, schemas: string[]) =>
  tx.query(`SELECT set_config('search_path', $1, true)`, [schemas.join(', ')]);

/** Brings the copy to where the live tables stand, or further. `undefined` when that would take too long here. */
async function takeLast(
  tx: Transaction,
  { projection, store, holder }: SwitchParts,
  { copy, upTo }: { copy: Copy; upTo: bigint },
): Promise<bigint | undefined> {
  await lookIn(tx, [copy.schema, copy.live]);
  await mustBeIn(tx, copy);
  const name = projectionCheckpoint(projection);
  const work = { name, handle: inCopy(projection, copy), holder, leaseMs: 0, takesOver: true };
  let { position } = await openCheckpoint(tx, name, holder);
  for (let pages = 0; position < upTo; pages += 1) {
    if (pages === MOST_LAST_PAGES) return undefined;
    const { events, readUpTo } = await store.readAll(position, { limit: PAGE, filter: projection.filter });
    const outcome = await handlePageIn(tx, work, { from: position, events, upTo: readUpTo });
    if (outcome === 'elsewhere') return undefined;
    position = outcome.upTo;
  }
  await lookIn(tx, [copy.live]);
  return position;
}

/** The projection's writer for the copy. Were the copy gone, its statements would find the live tables. */
export const inCopy =
  (projection: Projection, copy: Copy): Handle =>
  async (events, tx) => {
    await mustBeIn(tx, copy);
    return projection.project(events, tx);
  };

async function mustBeIn(tx: Transaction, { schema }: Copy): Promise<void> {
  const { rows } = await tx.query<{ name: string }>({ name: 'rebuild-where', text: 'SELECT current_schema() AS name' });
  if (rows[0]?.name !== schema) throw new Error(`the copy in ${schema} was removed, or switched in by another process`);
}

/** Returns how long nobody could read, until now. */
async function swapTables(
  tx: Transaction,
  parts: SwitchParts,
  { copy: { schema, live }, readersWaitMs }: { copy: Copy; readersWaitMs: number },
): Promise<number> {
  const tables = await tablesOf(tx, schema);
  const names = tables.map(({ name }) => name);
  const lines = (list: string[]): string => list.map((name) => `${live}.${name}`).join(', ');
  const roots = tables.filter(({ isPartition }) => !isPartition).map(({ name }) => name);
  if (!(await fitsLive(parts, schema, live)))
    throw misfit(parts.model, ['the live tables were migrated while the copy was built']);
  // First alone against vacuums and new indexes, which readers and writers do not notice.
  await waitFor(tx, VACUUM_WAIT_MS);
  await tx.query(`LOCK TABLE ${lines(roots)} IN SHARE UPDATE EXCLUSIVE MODE`);
  const problems = await differencesOf(tx, { live, copy: schema, tables: names });
  if (problems.length > 0) throw misfit(parts.model, problems);
  const grants = await grantsOn(tx, { live, names });
  await waitFor(tx, readersWaitMs);
  const beganAtMs = performance.now();
  await tx.query(`LOCK TABLE ${lines(roots)} IN ACCESS EXCLUSIVE MODE`);
  await tx.query(`DROP TABLE ${lines(roots)}`);
  for (const name of names) await tx.query(`ALTER TABLE ${schema}.${name} SET SCHEMA ${live}`);
  for (const grant of grants) await tx.query(grant);
  await dropRest(tx, schema);
  await lookIn(tx, [live]);
  return performance.now() - beganAtMs;
}

/** What others may do with the live tables, said of the copy's, which will be there by then. */
async function grantsOn(tx: Transaction, { live, names }: { live: string; names: string[] }): Promise<string[]> {
  const to = `CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END`;
  const { rows } = await tx.query<{ line: string }>(
    `SELECT format('GRANT %s ON %I.%I TO %s%s', privilege_type, $1::text, relname, ${to}) AS line
     FROM pg_class, aclexplode(relacl) WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2::text[])
     UNION ALL
     SELECT format('GRANT %s (%I) ON %I.%I TO %s%s', privilege_type, attname, $1::text, relname, ${to})
     FROM pg_class c JOIN pg_attribute ON attrelid = c.oid, aclexplode(attacl)
     WHERE relnamespace = to_regnamespace($1) AND relname = ANY ($2::text[])`,
    [live, names],
  );
  return rows.map(({ line }) => line);
}

/**
 * What is left of the copy. Nothing goes by CASCADE: what hangs on it would be a fault of ours, and the switch fails.
 */
async function dropRest(tx: Transaction, schema: string): Promise<void> {
  const { rows } = await tx.query<{ name: string }>(
    'SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = to_regnamespace($1)',
    [schema],
  );
  await tx.query(`DROP TABLE ${OWN_TABLES.map((name) => `${schema}.${name}`).join(', ')}`);
  if (rows.length > 0) await tx.query(`DROP ROUTINE ${rows.map(({ name }) => name).join(', ')}`);
  await tx.query(`DROP SCHEMA ${schema}`);
}
