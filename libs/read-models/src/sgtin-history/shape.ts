import { z } from 'zod';
import { inboundChannel, instant, position, sha256, whole } from '../shapes.js';

/** One movement in a pack's life. */
export const movement = z.strictObject({
  item: z.string().describe('The pack itself, or the container that held it then.'),
  through: z.literal('container').optional(),
  doc_type: whole,
  title: z.string(),
  request_id: z
    .string()
    .optional()
    .describe("Ours is a UUID; for a document that we did not send it is its sender's own id, where that is known."),
  document_id: z.string().optional(),
  channel: inboundChannel
    .optional()
    .describe('For a document that we did not send: by which way it came. Look at /v1/inbound/{documentId}.'),
  result: z.enum(['applied', 'refused', 'undetermined']),
  error_code: z.string().optional(),
  error_text: z.string().optional(),
  status: z.string().optional(),
  subject_id: z.string(),
  counterparty_id: z.string().optional(),
  operation_date: z.string(),
  accepted_at: instant.optional(),
  known_at: position,
  document_sha256: sha256,
  receipt_sha256: sha256.optional(),
});

export const packHistory = z.strictObject({
  sgtin: z.string(),
  gtin: z.string(),
  serial: z.string(),
  status: z.string().optional(),
  place: z.string().optional(),
  container: z.string().optional(),
  movements: z.array(movement),
});
