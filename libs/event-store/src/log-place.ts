import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';

/**
 * Settles at the first start where this installation's log lies, and refuses every later start that would look for it elsewhere: checkpoints and read models
 * would go on at positions of another log. Throws PedigreeError `invalid_configuration` that names the variable.
 */
export async function settleLogPlace(db: Queryable, eventStoreUrl: string | undefined): Promise<void> {
  const wanted = eventStoreUrl === undefined ? 'database' : 'server';
  await db.query('INSERT INTO log_place (place) VALUES ($1) ON CONFLICT DO NOTHING', [wanted]);
  const { rows } = await db.query<{ place: string }>('SELECT place FROM log_place');
  if (rows[0]?.place === wanted) return;
  const message =
    wanted === 'server'
      ? 'is set, but the event log of this installation lies in its database; leave it out, or begin with an empty database'
      : 'is not set, but the event log of this installation lies on an EventStoreDB or KurrentDB server; name it';
  throw new PedigreeError('invalid_configuration', `EVENTSTORE_URL: ${message}`, { field: 'EVENTSTORE_URL' });
}
