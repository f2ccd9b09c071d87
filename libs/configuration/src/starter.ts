import { hostname, userInfo } from 'node:os';
import type { Actor } from '#event-store';
import type { JsonObject } from '#kernel';
import type { MigrationSet, Queryable } from '#postgres';

/**
 * Who answers for the settings that a program starts with: the one who was named, else the user of the operating system
 * who started it.
 */
export function starterOf(changedBy: string | undefined): Actor {
  if (changedBy !== undefined) return { kind: 'person', name: changedBy, authenticatedBy: 'environment' };
  return { kind: 'system', name: `${userName()}@${hostname()}`, authenticatedBy: 'operating-system' };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that no list of users has.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * The migrations of a program's own sets that are applied, each set by how many files, which is the last, and a digest
 * over all. Sets of other programs are left out: whether those have started before is no setting of this one.
 */
export async function migrationsApplied(db: Queryable, sets: MigrationSet[]): Promise<JsonObject> {
  const { rows } = await db.query<{ name: string; files: number; last: string; sha256: string }>(
    `SELECT set_name AS name, count(*)::int AS files, max(file_name COLLATE "C") AS last,
            encode(sha256(string_agg(file_name || ' ' || sha256, E'\\n' ORDER BY file_name COLLATE "C")::bytea),
              'hex') AS sha256
     FROM schema_migration WHERE set_name = ANY ($1::text[]) GROUP BY set_name ORDER BY set_name COLLATE "C"`,
    [sets.map((set) => set.name)],
  );
  return Object.fromEntries(rows.map(({ name, files, last, sha256 }) => [name, { files, last, sha256 }]));
}
