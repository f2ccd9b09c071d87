import { invalidConfiguration } from '#kernel';
import type { Queryable } from '#postgres';

type Place = 'database' | 'server';

/** What a database knows of its log. */
export interface LogPlace {
  place: Place;
  /**
   * Whether the first event of this installation was seen in it. False too where a version before that event chose the
   * place.
   */
  installationSeen: boolean;
}

/** Undefined for a database that has never looked for its log. */
export async function logPlace(db: Queryable): Promise<LogPlace | undefined> {
  const { rows } = await db.query<LogPlace>('SELECT place, installation_seen AS "installationSeen" FROM log_place');
  return rows[0];
}

/**
 * Refuses a start that looks for the log elsewhere than the ones before: checkpoints and read models would go on at
 * positions of another log. Throws PedigreeError `invalid_configuration` that names the variable.
 */
export function refuseOtherPlace(wanted: Place, settled: Place): void {
  if (settled === wanted) return;
  const message =
    wanted === 'server'
      ? 'is set, but the event log of this installation lies in its database; leave it out, or begin with an empty ' +
        'database'
      : 'is not set, but the event log of this installation lies on an EventStoreDB or KurrentDB server; name it';
  throw invalidConfiguration('EVENTSTORE_URL', message);
}

/**
 * Keeps where the log lies, and that the first event of this installation is in it. Returns the place that counts:
 * another process may have chosen first.
 */
export async function keepPlace(db: Queryable, wanted: Place): Promise<Place> {
  await db.query(
    'INSERT INTO log_place (place, installation_seen) VALUES ($1, true) ON CONFLICT (only_row) DO UPDATE SET ' +
      'installation_seen = true WHERE log_place.place = excluded.place',
    [wanted],
  );
  return ((await logPlace(db)) as LogPlace).place;
}
