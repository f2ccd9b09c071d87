import type { RecordedEvent } from '#event-store';
import { timelineOf } from '../document-timeline/timeline.js';
import type { InboundDetail } from '../port.js';
import { foldInbound } from './fold.js';
import { inboundSummary, type InboundTypes } from './query.js';
import type { InboundDocumentRow } from './row.js';
import { sentenceOfInboundEvent } from './sentences.js';

/** Where a document of others stands by the events of its stream; undefined where there are none. Pure. */
export const inboundRow = (events: readonly RecordedEvent[]): InboundDocumentRow | undefined =>
  events.reduce<InboundDocumentRow | undefined>(foldInbound, undefined);

/** The receipt whose errors the answer shows. */
export const receiptWithErrors = ({ receiptSha256, errorCount }: InboundDocumentRow): string | null =>
  errorCount === 0 ? null : receiptSha256;

/** The answer about a document of others. Pure. */
export const inboundDetailOf = (
  row: InboundDocumentRow,
  events: RecordedEvent[],
  { errors, types }: { errors: InboundDetail['errors']; types: InboundTypes },
): InboundDetail => ({
  ...inboundSummary(row, types),
  timeline: timelineOf(events, sentenceOfInboundEvent),
  errors,
});
