import { z } from 'zod';
import { CASE_RESOLUTIONS } from '#domain';
import { accountName } from '../intake/command-body.js';

const MOST_ITEMS = 500;
const MOST_CASES = 500;

const assignee = z.string().trim().min(1).max(100).nullable().describe('Who follows it; null: nobody.');
const resolution = z.enum(CASE_RESOLUTIONS).describe('How it ended; `reason` is the note to it.');
const item = z.string().regex(/^(\d{18}|\d{14}[A-Za-z0-9]{13})$/, 'must be an SGTIN or an SSCC');
const common = {
  reason: z.string().trim().min(3).max(1_000).describe('Why: it is kept in the log, with who asked.'),
};
const ofMany = {
  ...common,
  cases: z.array(z.uuid()).min(1).max(MOST_CASES).describe('Ids of cases; each is taken once.'),
};

/** What a person does about one case. Of a comment and an explanation the reason is the text. */
export const caseActionBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('acknowledge'), ...common }),
  z.strictObject({ action: z.literal('assign'), assignee, ...common }),
  z.strictObject({ action: z.literal('comment'), ...common }),
  z.strictObject({ action: z.literal('explain'), ...common }),
  z.strictObject({ action: z.literal('resolve'), resolution, ...common }),
  z.strictObject({ action: z.literal('reopen'), ...common }),
  z.strictObject({
    action: z.literal('split'),
    items: z.array(item).min(1).max(MOST_ITEMS).describe('Packs or containers that become a case of their own.'),
    ...common,
  }),
]);
export type CaseAction = z.output<typeof caseActionBody>;

/** The same about many, for one reason. */
export const caseActionsBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('acknowledge'), ...ofMany }),
  z.strictObject({ action: z.literal('assign'), assignee, ...ofMany }),
  z.strictObject({ action: z.literal('comment'), ...ofMany }),
  z.strictObject({ action: z.literal('explain'), ...ofMany }),
  z.strictObject({ action: z.literal('resolve'), resolution, ...ofMany }),
  z.strictObject({ action: z.literal('reopen'), ...ofMany }),
]);
export type CaseActions = z.output<typeof caseActionsBody>;

/** How the suggested document of a case is released. */
export const caseReleaseBody = z.strictObject({
  account: accountName.optional().describe('Account to send with, as in a command.'),
  ...common,
});
export type CaseRelease = z.output<typeof caseReleaseBody>;
