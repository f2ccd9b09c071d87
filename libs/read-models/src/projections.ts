import { documentOutcomesProjection } from './document-outcomes/projection.js';
import type { ReadModelProjection } from './projection.js';
import { sgtinHistoryProjection, type SgtinHistoryOptions } from './sgtin-history/projection.js';

/** Every projection of this library, for the subscription runner; each has its own checkpoint under its name. */
export function projections(options: SgtinHistoryOptions): ReadModelProjection[] {
  return [documentOutcomesProjection(), sgtinHistoryProjection(options)];
}
