import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isUuid, PedigreeError } from '#kernel';
import { accountName, commandId, memberBody, reference } from '../intake/command-body.js';
import { configurationPart, documentOutcome, documentPhase, failureCause, inboundChannel, inboundDirection, inboundOutcome, inboundPhase } from './answers.js';
import { findingKind } from './reconciliation-answers.js';
import { groupKind, groupPhase } from './group-answers.js';

const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most));

/** Query parameters of the document list; names as in the API. */
export const documentListParameters = z.strictObject({
  phase: documentPhase.optional(),
  outcome: documentOutcome.optional(),
  cause: failureCause.optional().describe('Why it failed.'),
  account: accountName.optional(),
  doc_type: wholeNumber(1, 999_999).optional(),
  command_id: commandId.optional(),
  reference: reference.optional(),
  duplicate: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  registered_from: instant.optional(),
  registered_to: instant.optional(),
  limit: wholeNumber(1, 1_000).default(100),
  cursor: z.string().min(1).max(500).optional(),
});

/** Query parameters of the list of groups. */
export const groupListParameters = z.strictObject({
  phase: groupPhase.optional(),
  outcome: documentOutcome.optional(),
  account: accountName.optional(),
  kind: groupKind.optional(),
  halted: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('true: only those that stopped.'),
  limit: wholeNumber(1, 1_000).default(100),
  cursor: z.string().min(1).max(500).optional(),
});

/** How a paused account is resumed by a person. */
export const accountResumption = z.strictObject({ reason: z.string().trim().min(3).max(1_000).describe('Why: kept in the log.') });

/** How a halted group is resumed by a person. */
export const resumptionBody = z.strictObject({
  command_id: commandId.optional().describe('Default: resume-{groupId}, so that the same again is a no-op.'),
  corrected: memberBody.optional().describe('Takes the place of the member that stopped the group; absent only when none did.'),
  reason: z.string().trim().min(3).max(1_000).describe('Why: kept in the log.'),
});

/** The largest position that the log can have. */
const MOST_POSITION = 9_223_372_036_854_775_807n;

/** Query parameters of the outcome feed. */
export const outcomeFeedParameters = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,20}$/, 'must be the sequence of an outcome, or next_after of an answer')
    .transform((text) => BigInt(text))
    .refine((position) => position <= MOST_POSITION, 'lies beyond any log')
    .optional()
    .describe('The sequence of the last outcome that was taken, or next_after. Absent: from the oldest that is kept.'),
  limit: wholeNumber(1, 500).default(100),
  wait: wholeNumber(0, 30).default(0).describe('Seconds to wait for the first outcome while there is none.'),
});

/** Query parameters of a concluded document's items. */
export const documentItemsParameters = z.strictObject({
  result: z.enum(['accepted', 'refused', 'undetermined']).optional(),
  limit: wholeNumber(1, 5_000).default(1_000),
  cursor: z.string().min(1).max(100).optional(),
});

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Query parameters of the list of documents that are not ours; names as in the API. */
export const inboundListParameters = z.strictObject({
  direction: inboundDirection.optional(),
  channel: inboundChannel.optional(),
  phase: inboundPhase.optional(),
  outcome: inboundOutcome.optional(),
  account: accountName.optional(),
  doc_type: wholeNumber(1, 999_999).optional(),
  request_id: z.uuid().optional().describe('What belongs to this document of ours.'),
  linked: flag.optional().describe('Whether it belongs to a document of ours.'),
  limit: wholeNumber(1, 1_000).default(100),
  cursor: z.string().min(1).max(500).optional(),
});

export const historyParameters = z.strictObject({
  /** Only movements accepted by the registry up to this instant. */
  as_of: instant.optional(),
  /** As it was known at this log position. */
  known_at: z
    .string()
    .regex(/^\d{1,18}$/, 'must be a log position')
    .transform((text) => BigInt(text))
    .optional(),
});

export const commandParameters = z.strictObject({ account: accountName.optional().describe('Account of the commands that name none.') });
export const commandPath = z.strictObject({ commandId });

/** Parses parameters; the error names the first that is wrong. */
export function parameters<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const field = unknown ?? String(issue?.path[0] ?? '');
  throw new PedigreeError('invalid_parameter', `${field}: ${unknown === undefined ? (issue?.message ?? 'invalid') : 'no such parameter'}`, { field });
}

/** NUL is no part of any value of ours, and a database would take it for a fault. Refused for every route in one place, in path and query. */
export function refuseNul(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    const given = Object.entries({ ...(request.query as object), ...(request.params as object) });
    const field = given.find(([, value]) => String(value).includes('\0'))?.[0];
    done(field === undefined ? undefined : new PedigreeError('invalid_parameter', `${field}: holds a NUL (%00)`, { field }));
  });
}

/** A path's UUID, in lower case as everything is kept. */
export function uuidParameter(field: string, text: string): string {
  if (!isUuid(text)) throw new PedigreeError('invalid_parameter', `${field}: ${text} is not a UUID`, { field, item: text });
  return text.toLowerCase();
}

const why = z.string().trim().min(3).max(1_000).optional().describe('Why: it is kept in the log.');

/** A webhook that is to be made. */
export const webhookBody = z.strictObject({
  url: z.string().min(1).describe('https, or http on the same machine; without user, password and fragment.'),
  description: z.string().trim().min(1).max(200).optional(),
  from: z.enum(['now', 'oldest']).default('now').describe('Begin with what comes from now on, or with the oldest outcome that is kept.'),
  reason: why,
});

export const webhookRemoval = z.strictObject({ reason: why });

/** How a webhook that was halted goes on. */
export const webhookResumption = z.strictObject({
  from: z.enum(['here', 'oldest', 'now']).default('here').describe('Go on where it stopped, with the oldest outcome that is kept, or with what comes from now on.'),
  reason: why,
});

/** A failed task, or what is parked, that is to be tried again, and why. */
/** Why what is held is released or ended. */
export const holdBody = z.strictObject({ reason: z.string().trim().min(3).max(1_000).describe('Why: kept in the log.') });

export const retryBody = z.strictObject({ key: z.string().min(1).max(400), reason: z.string().trim().min(3).max(1_000) });

/** Why orphans are carried on. */
export const replanBody = z.strictObject({ reason: z.string().trim().min(3).max(1_000) });

export const deadLetterListParameters = z.strictObject({
  limit: wholeNumber(1, 10_000).default(100),
  discarded: flag.optional().describe('`true`: those that were discarded, the newest first, with who did it and why.'),
});
export const deadLetterPath = z.strictObject({ id: z.string().min(1).max(200) });
/** Why a dead letter goes back into the queue, or is discarded. */
export const letterDecision = z.strictObject({ reason: z.string().trim().min(3).max(1_000) });

/** Query parameters of the changes of settings. */
export const configurationParameters = z.strictObject({
  program: z.string().min(1).max(100).optional(),
  part: configurationPart.optional(),
  before: wholeNumber(0, 999_999_999).optional().describe('Only what came before this version: next_before of an answer.'),
  limit: wholeNumber(1, 1_000).default(100),
});

/** Why a comparison is asked for. */
export const reconciliationBody = z.strictObject({ reason: z.string().trim().min(3).max(1_000).describe('Why: it is kept in the log.') });
export const reconciliationPath = z.strictObject({ runId: z.string().min(1).max(100) });

export const reconciliationListParameters = z.strictObject({
  before: z.string().min(1).max(100).optional().describe('next_before of an answer.'),
  limit: wholeNumber(1, 100).default(20),
});

/** Query parameters of a run's findings. */
export const reconciliationFindingParameters = z.strictObject({
  kind: findingKind.optional(),
  after: wholeNumber(0, 999_999_999).default(0).describe('next_after of an answer.'),
  limit: wholeNumber(1, 5_000).default(1_000),
});
