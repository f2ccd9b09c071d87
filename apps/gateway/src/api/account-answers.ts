import { z } from 'zod';
import { ACCOUNT_CAUSES } from '#domain';
import { shapes } from '#read-models';

/** The shapes of answers about accounts. Names as in the API. */

const { instant, sha256, whole } = shapes;

export const account = z.strictObject({
  name: z.string(),
  state: z.enum(['active', 'paused']).describe('paused: nothing is sent through it, and its documents wait.'),
  cause: z.enum(ACCOUNT_CAUSES).optional(),
  code: z.string().optional().describe("The registry's own code, or ours where we found it ourselves."),
  text: z.string().optional(),
  since: instant.optional(),
  answer_sha256: sha256.optional().describe("The registry's answer: /v1/evidence/{sha256}."),
  request_id: z.string().optional().describe('The document that was refused.'),
  certificate: z
    .strictObject({
      subject: z.string(),
      thumbprint: z.string().describe('SHA-1.'),
      certificate_sha256: sha256,
      valid_from: instant,
      valid_to: instant,
    })
    .optional()
    .describe('With which it signs. Absent for password users, and before the first signature of some signers.'),
  waiting: whole.describe('Documents and groups that wait in its lanes.'),
});

export const accountList = z.strictObject({ items: z.array(account) });
