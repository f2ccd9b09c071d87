import { z } from 'zod';
import { shapes } from '#read-models';

const { instant, sha256 } = shapes;

const file = {
  upload_id: z.uuid(),
  name: z.string(),
  bytes: z.number().int(),
  sha256,
  moment: instant.nullable().describe('When the stock was true, as the sender said it.'),
  opened_at: instant,
  opened_by: z.string(),
  part_bytes: z.number().int().describe('Bytes of every part but the last.'),
  parts: z.number().int().describe('How many parts there are: 1 to this number.'),
};

export const stockUpload = z.discriminatedUnion('state', [
  z.strictObject({
    ...file,
    state: z.literal('open'),
    received: z
      .array(z.strictObject({ n: z.number().int(), sha256 }))
      .describe('Parts that are there, with the digest of each: one that differs from yours is sent again.'),
    missing: z.array(z.number().int()),
    removed_after: instant.describe('Not finished by then, the upload is removed.'),
  }),
  z.strictObject({
    ...file,
    state: z.literal('finished'),
    file: z.string().describe('Its name in the folder from which the reconciler takes stock files.'),
    finished_at: instant,
    finished_by: z.string(),
  }),
]);
