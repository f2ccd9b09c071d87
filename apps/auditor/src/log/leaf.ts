import type { RecordedEvent } from '#event-store';
import { canonicalBytes } from '#kernel';
import { leafHash, type Hash } from '#merkle';

/**
 * The bytes that a leaf stands for: the event as RFC 8785 JSON, with everything that says what happened, to whom, by
 * whom and when it was recorded. The position is left out: it belongs to the engine that keeps the log, and the leaf's
 * own index is the order.
 */
export const leafBytes = ({
  id,
  stream,
  version,
  type,
  schemaVersion,
  data,
  metadata,
  recordedAt,
}: RecordedEvent): Buffer =>
  canonicalBytes({ id, stream, version, type, schemaVersion, data, metadata, recordedAt: recordedAt.toISOString() });

export const leafOf = (event: RecordedEvent): Hash => leafHash(leafBytes(event));
