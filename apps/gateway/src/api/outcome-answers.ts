import { z } from 'zod';
import { cloudEventOf, OUTCOME_DATA, shapes, type OutcomeType } from '#read-models';

/** The shapes of answers about what the ERP is told. Names as in the API. */

const { instant, position, whole } = shapes;

export const outcomePage = z.strictObject({
  items: z.array(z.union((Object.keys(OUTCOME_DATA) as OutcomeType[]).map(cloudEventOf))),
  next_after: z
    .string()
    .regex(/^\d{20}$/)
    .describe('Give it as `after` for what comes next.'),
});

const webhookFields = {
  id: z.uuid(),
  url: z.string().describe('What follows `?`, often a token, is shown as `***`.'),
  description: z.string().optional(),
  created_by: z.string(),
  created_at: instant,
  state: z
    .enum(['active', 'retrying', 'halted'])
    .describe('retrying: the newest attempt failed. halted: given up, until it is resumed.'),
  position: position.describe('Log position up to which everything was delivered.'),
  behind: whole.describe('Outcomes that it lacks, counted up to 10,000.'),
  failures: whole.describe('Failures in a row.'),
  failing_since: instant.optional().describe('When the first of these failures was: nothing was taken since.'),
  last_error: z.string().optional(),
  next_attempt_at: instant.optional(),
  halted_at: instant.optional(),
  earlier_secret_until: instant.optional().describe('Until then the secret before the newest one signs too.'),
};

export const webhook = z.strictObject(webhookFields);
export const newWebhook = z.strictObject({
  ...webhookFields,
  secret: z.string().describe('For the check of signatures (Standard Webhooks). Shown this once.'),
});
export const webhookList = z.strictObject({ items: z.array(webhook) });
