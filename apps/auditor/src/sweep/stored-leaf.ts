import { leafHash, type Hash } from '#merkle';
import type { StoredEvent } from '#event-store';
import { digestLeaf, type LeafForm } from '#proofs';

const text = (value: string): string => JSON.stringify(value);

/**
 * The leaf of an event from the bytes of its row. They are put into the leaf as they are (`leafBytes` writes the same
 * of what was read), so that any other byte is another leaf, also one that reads the same.
 */
export const leafOfStored = (event: StoredEvent, form: LeafForm): Hash =>
  leafHash(form === 2 ? digestLeaf(event, event) : wholeLeaf(event));

const wholeLeaf = ({ id, stream, version, type, schemaVersion, data, metadata, recordedAt }: StoredEvent): Buffer =>
  Buffer.concat([
    Buffer.from('{"data":'),
    data,
    Buffer.from(`,"id":${text(id)},"metadata":`),
    metadata,
    Buffer.from(
      `,"recordedAt":${text(recordedAt.toISOString())},"schemaVersion":${schemaVersion},` +
        `"stream":${text(stream)},"type":${text(type)},"version":${version}}`,
    ),
  ]);
