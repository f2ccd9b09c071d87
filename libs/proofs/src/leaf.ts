import { canonicalBytes, canonicalJson, sha256Hex } from '#kernel';
import { leafHash, leafHashOfText, type Hash } from '#merkle';

/**
 * How an event is written into its leaf. 1: the whole event, as RFC 8785 JSON. 2: the same without data and metadata,
 * which it names by their SHA-256 (decision 44). A tree may begin with leaves of form 1; from its first leaf of form 2
 * on all are.
 */
export type LeafForm = 1 | 2;

/** In which leaves are sealed from now on. */
export const NEWEST_FORM: LeafForm = 2;

/** In each leaf of form 2, and in none of form 1. */
export const LEAF_FORMAT = 'pedigree-leaf/2';

/** What a leaf says of its event: all but its data and metadata. */
interface EventEnvelope {
  id: string;
  stream: string;
  version: number;
  type: string;
  schemaVersion: number;
  recordedAt: Date;
}

/** An event as the log gives it, as far as a leaf stands for it. */
export interface LeafEvent extends EventEnvelope {
  data: object;
  metadata: object;
}

/** Data and metadata as they are stored: RFC 8785 JSON, as text or as its bytes in UTF-8. */
interface EventContent<Json = Uint8Array | string> {
  data: Json;
  metadata: Json;
}

/**
 * The bytes that a leaf stands for: what happened, to whom, by whom and when it was recorded. The position is left out:
 * it belongs to the engine that keeps the log, and the leaf's own index is the order.
 */
export function leafBytes(event: LeafEvent, form: LeafForm = NEWEST_FORM): Buffer {
  const { id, stream, version, type, schemaVersion, data, metadata, recordedAt } = event;
  if (form === 2) return digestLeaf(event, { data: canonicalJson(data), metadata: canonicalJson(metadata) });
  return canonicalBytes({
    ...{ id, stream, version, type, schemaVersion, data, metadata },
    recordedAt: recordedAt.toISOString(),
  });
}

export const leafOf = (event: LeafEvent, form: LeafForm = NEWEST_FORM): Hash => leafHash(leafBytes(event, form));

/** Data and metadata of an event as they are stored. */
export const contentOf = ({ data, metadata }: Pick<LeafEvent, 'data' | 'metadata'>): EventContent<Buffer> => ({
  data: canonicalBytes(data),
  metadata: canonicalBytes(metadata),
});

/** A leaf of form 2. It is below 65,535 bytes, whatever the event holds: names have up to 512 bytes. */
export const digestLeaf = (envelope: EventEnvelope, content: EventContent): Buffer =>
  Buffer.from(digestText({ ...envelope, recordedAt: envelope.recordedAt.toISOString() }, content), 'utf8');

/** An envelope whose time is RFC 8785 text already. */
type EnvelopeText = Omit<EventEnvelope, 'recordedAt'> & { recordedAt: string };

/** The leaf of form 2 of an event whose content nobody has read: what `leafOf` gives of the event itself. */
export const leafOfText = (envelope: EnvelopeText, content: EventContent): Hash =>
  leafHashOfText(digestText(envelope, content));

/** RFC 8785 JSON: its names are in order here. */
const digestText = (
  { id, recordedAt, schemaVersion, stream, type, version }: EnvelopeText,
  { data, metadata }: EventContent,
): string =>
  `{"dataSha256":"${sha256Hex(data)}","format":"${LEAF_FORMAT}","id":${text(id)},` +
  `"metadataSha256":"${sha256Hex(metadata)}","recordedAt":${text(recordedAt)},"schemaVersion":${schemaVersion},` +
  `"stream":${text(stream)},"type":${text(type)},"version":${version}}`;

const text = (value: string): string => JSON.stringify(value);
