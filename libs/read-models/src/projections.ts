import { documentOutcomesProjection } from './document-outcomes/projection.js';
import type { Projection } from '#subscriptions';
import { sgtinHistoryProjection, type SgtinHistoryOptions } from './sgtin-history/projection.js';

/** Every projection of this library, for the subscription runner; each has its own checkpoint under its name. */
export function projections(options: SgtinHistoryOptions): Projection[] {
  return [documentOutcomesProjection(), sgtinHistoryProjection(options)];
}
