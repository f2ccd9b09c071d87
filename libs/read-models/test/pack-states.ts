import { typeKnowledge } from '#documents';
import { inTransaction, type Pool } from '#postgres';
import { followPacks } from '../src/pack-state/follow.js';
import { packsNow, type PackNow } from '../src/pack-state/now.js';

const BACK = new Error('the tables are as they were');

/**
 * How these packs stand by their own rows, had only what was known at a log position ever come: from the tables of
 * movements, which stay as they are.
 */
export async function packsAt(pool: Pool, items: readonly string[], at: bigint): Promise<PackNow[]> {
  let found: PackNow[] = [];
  const told = inTransaction(pool, async (tx) => {
    await tx.query('DELETE FROM movement_document WHERE known_from > $1', [at]);
    await tx.query('UPDATE movement_document SET known_to = NULL WHERE known_to > $1', [at]);
    const { rows } = await tx.query<{ position: bigint }>('SELECT known_from AS position FROM movement_document');
    await followPacks(tx, {
      ...{ movements: [], namedTwice: new Set(), onWaiting: () => undefined, types: typeKnowledge },
      closed: rows.map(({ position }) => position),
    });
    found = await packsNow(tx, items, typeKnowledge);
    throw BACK;
  });
  await told.catch((error: unknown) => {
    if (error !== BACK) throw error;
  });
  return found;
}
