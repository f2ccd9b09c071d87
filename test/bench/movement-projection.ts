import { documentReading } from '#documents';
import type { EventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { projections } from '#read-models';
import type { Projection } from '#subscriptions';

/** The projection that writes movements and the rows of packs. */
export function movementProjection(pool: Pool, store: EventStore): Projection {
  const evidence = new PostgresEvidenceStore({ pool });
  const all = projections({ evidence, documents: documentReading(), store });
  const projection = all.find(({ name }) => name === 'sgtin-history');
  if (projection === undefined) throw new Error('no projection writes movements');
  return projection;
}
