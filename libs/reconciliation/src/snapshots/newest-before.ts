import { dirname, join } from 'node:path';
import { FolderStore } from '#duckdb';
import { KINDS } from './kinds.js';
import { readSnapshot, type Scope, type SnapshotManifest } from './manifest.js';
import { isToCome } from './to-come.js';

/** Snapshots that are read at a time. */
const AT_ONCE = 50;
const DAY_MS = 86_400_000;
/** Names tell the time in the zone of whoever asked, so that a name is off by two days at most. */
const NAMES_OFF_MS = 2 * DAY_MS;
/** As imports name them: kind, then moment. */
const NAMED = new RegExp(`^(${Object.keys(KINDS).join('|')})-(?:(\\d{4})-?(\\d\\d)-?(\\d\\d)T)?`);

/**
 * The newest snapshot of the same kind and branch beside this one that speaks of one of its places. They are read from
 * the newest name on until it is found: those of other kinds are not, and memory does not grow with them.
 */
export async function newestBefore(
  out: string,
  { kind, branch, places, moment }: Scope,
): Promise<SnapshotManifest | undefined> {
  const folder = dirname(out);
  const isBefore = (one: SnapshotManifest | undefined): one is SnapshotManifest =>
    one !== undefined &&
    one.branch === branch &&
    haveSome(one.places, places) &&
    // A mistyped year must not be held against all that come after it.
    !isToCome(one.moment, new Date(moment));
  const names = await namesOf(folder, kind);
  let newest: SnapshotManifest | undefined;
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE);
    if (newest !== undefined && (some[0]?.atMs ?? 0) < Date.parse(newest.moment) - NAMES_OFF_MS) break;
    const found = await Promise.all(
      some.map(({ name }) => readSnapshot(join(folder, name), kind).catch(() => undefined)),
    );
    for (const one of found.filter(isBefore))
      if (newest === undefined || Date.parse(one.moment) >= Date.parse(newest.moment)) newest = one;
  }
  return newest;
}

/** Whether both speak of one place; null speaks of all. */
const haveSome = (a: string[] | null, b: string[] | null): boolean =>
  a === null || b === null || a.some((place) => b.includes(place));

/** Names that a snapshot of this kind may have, newest first; names without a day come before all others. */
async function namesOf(folder: string, kind: Scope['kind']): Promise<{ name: string; atMs: number }[]> {
  return (await new FolderStore(folder).sets())
    .flatMap((name) => {
      const [, of, year, month, day] = NAMED.exec(name) ?? [];
      if (of !== undefined && of !== kind) return [];
      return [{ name, atMs: year === undefined ? Infinity : Date.parse(`${year}-${month}-${day}`) }];
    })
    .sort((a, b) => (a.atMs === b.atMs ? 0 : b.atMs - a.atMs));
}
