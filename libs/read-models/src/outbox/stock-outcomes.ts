import type { StockUploaded } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { defined } from '#kernel';
import type { OutcomePayload } from './outcome-payload.js';

/** A stock file is whole, and goes to the reconciler. */
export function stockUploaded(event: RecordedEvent): OutcomePayload {
  const { uploadId, name, file, byteLength, fileSha256, lines, moment } = typedEvent<StockUploaded>(event).data;
  return {
    type: 'pedigree.stock.uploaded.v1',
    topic: 'stock.uploaded',
    subject: uploadId,
    data: {
      ...{ upload_id: uploadId, name, file, bytes: byteLength, sha256: fileSha256 },
      ...defined({ lines, moment }),
      sentence: `The stock file ${name} came whole, and goes to the reconciler as ${file}.`,
      known_at: String(event.position),
      href: `/v1/stock-uploads/${uploadId}`,
    },
  };
}
