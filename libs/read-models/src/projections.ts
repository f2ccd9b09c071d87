import { accessLogProjection } from './access-log/projection.js';
import { casesProjection } from './cases/projection.js';
import { documentOutcomesProjection } from './document-outcomes/projection.js';
import { groupsProjection } from './groups/projection.js';
import { inboundDocumentsProjection } from './inbound-documents/projection.js';
import { outboxProjection, type OutboxOptions } from './outbox/projection.js';
import type { Projection } from '#subscriptions';
import { sgtinHistoryProjection } from './sgtin-history/projection.js';
import { suspensionsProjection } from './suspensions/projection.js';
import { timelinessProjection } from './timeliness/projection.js';

/** Every projection of this library, for the subscription runner; each has its own checkpoint under its name. */
export function projections(options: OutboxOptions): Projection[] {
  return [
    documentOutcomesProjection(),
    groupsProjection(),
    inboundDocumentsProjection(),
    timelinessProjection(),
    sgtinHistoryProjection(options),
    casesProjection(),
    accessLogProjection(),
    suspensionsProjection(),
    outboxProjection(options),
  ];
}
