import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { firstFault, invalidParameter, isUuid, PedigreeError, PLAIN_WORDS } from '#kernel';
import { accountName, commandId, memberBody, reference } from '../intake/command-body.js';
import {
  CHECK_PURPOSES,
  DOCUMENT_PHASES,
  GROUP_PHASES,
  inboundDirection,
  inboundOutcome,
  inboundPhase,
  SERIES_FATES,
  shapes,
  STOCK_PARTS,
} from '#read-models';
import { isStandKnown } from '#documents';
import { CASE_PHASES, CASE_SEVERITIES, DEADLINE_ROLES, GROUP_KINDS } from '#domain';
import { configurationPart, itemResult } from './answers.js';
import { findingKind } from './reconciliation-answers.js';

const { documentOutcome, failureCause, inboundChannel } = shapes;

const NO_INSTANT = 'must be an instant with an offset or Z, such as 2026-03-02T10:00:00Z';
/** A + that was not escaped arrives as a blank. */
const noInstant = ({ input }: { input?: unknown }): string =>
  /T\S+ \d\d:?\d\d$/.test(String(input)) ? `${NO_INSTANT}; in an address + is written %2B` : NO_INSTANT;
export const instant = z.iso.datetime({ offset: true, error: noInstant }).transform((text) => new Date(text));
export const wholeNumber = (least: number, most: number) => {
  const within = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, within)
    .transform(Number)
    .pipe(z.number().min(least, within).max(most, within))
    .meta({ type: 'integer', minimum: least, maximum: most });
};
const limit = (most: number, usual: number, of: string) =>
  wholeNumber(1, most)
    .default(usual)
    .meta({ default: usual, description: `${of} of an answer, at most.` });

/** Parts of more than one list. */
export const page = {
  limit: limit(1_000, 100, 'Entries'),
  cursor: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('next_cursor of an answer: the page after it. Every other parameter but limit stays the same.'),
};
const ofAccount = accountName.optional().describe('Only what goes through this account of the accounts file.');
const ofType = wholeNumber(1, 999_999).optional().describe('Only documents of this scheme number, for example 415.');
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Why a person does it. */
export const reason = z.string().trim().min(3).max(1_000).describe('Why: it is kept in the log, with who asked.');

/** Query parameters of the document list; names as in the API. */
export const documentListParameters = z.strictObject({
  phase: z.enum(DOCUMENT_PHASES).optional().describe('Only documents that stand here.'),
  outcome: documentOutcome.optional().describe('Only documents that ended so.'),
  cause: failureCause.optional().describe('Only documents that failed by this cause.'),
  account: ofAccount,
  doc_type: ofType,
  command_id: commandId.optional().describe('Only the document of this command.'),
  reference: reference.optional().describe("Only documents that carry this reference of the ERP's."),
  duplicate: flag
    .optional()
    .describe(
      'true: only alarms, documents that the registry holds more than once under their request_id; false: all others.',
    ),
  registered_from: instant
    .optional()
    .describe('Only documents that were registered at this instant or later (RFC 3339, with an offset or Z).'),
  registered_to: instant.optional().describe('Only documents that were registered before this instant.'),
  ...page,
});

/** Query parameters of the list of groups. */
export const groupListParameters = z.strictObject({
  phase: z.enum(GROUP_PHASES).optional().describe('Only groups that stand here.'),
  outcome: documentOutcome.optional().describe('Only groups that ended so.'),
  account: ofAccount,
  kind: z
    .enum(GROUP_KINDS)
    .optional()
    .describe('Only groups that came about so: given by the ERP, a large document that was split, or a resumption.'),
  halted: flag.optional().describe('true: only those that stopped; false: all others.'),
  ...page,
});

/** How a paused account is resumed by a person. */
export const accountResumption = z.strictObject({ reason });

/** How a halted group is resumed by a person. */
export const resumptionBody = z.strictObject({
  command_id: commandId.optional().describe('Default: resume-{groupId}, so that the same again is a no-op.'),
  account: accountName.optional().describe('Account to send with. Default: the one of the group.'),
  corrected: memberBody
    .optional()
    .describe('In place of the member that stopped the group; absent where none did, or it was accepted since.'),
  reason,
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
  limit: limit(500, 100, 'Outcomes'),
  wait: wholeNumber(0, 30).default(0).describe('Seconds to wait for the first outcome while there is none.'),
});

/** Query parameters of a concluded document's items. */
export const documentItemsParameters = z.strictObject({
  result: itemResult.optional().describe('Only items with which it went so.'),
  limit: limit(5_000, 1_000, 'Items'),
  cursor: z.string().min(1).max(100).optional().describe('next_cursor of an answer: the page after it.'),
});

/** Query parameters of the list of documents that are not ours; names as in the API. */
export const inboundListParameters = z.strictObject({
  direction: inboundDirection
    .optional()
    .describe('incoming: told by others; outgoing: sent in our name past this system.'),
  channel: inboundChannel.optional().describe('Only what came by this way.'),
  phase: inboundPhase.optional().describe('Only documents that stand here.'),
  outcome: inboundOutcome.optional().describe('Only documents that ended so.'),
  account: ofAccount,
  doc_type: ofType,
  request_id: z.uuid().optional().describe('What belongs to this document of ours.'),
  linked: flag.optional().describe('Whether it belongs to a document of ours.'),
  given_up: flag.optional().describe('true: only what the registry did not give, or gave unreadable.'),
  ...page,
});

const caseText = z.string().min(1).max(100);

/** Query parameters of the list of cases; names as in the API. */
export const caseListParameters = z.strictObject({
  state: z.enum(CASE_PHASES).optional().describe('Only cases that stand so.'),
  unresolved: flag.optional().describe('true: all but those that are resolved; false: all, as without it.'),
  severity: z.enum(CASE_SEVERITIES).optional().describe('Only cases of this severity.'),
  code: caseText.optional().describe('Only cases of this reason code, for example missing_locally.'),
  place: caseText.optional().describe('Only cases by series at this branch or place of business.'),
  document: caseText.optional().describe('Only cases of this document: its request_id.'),
  container: caseText.optional().describe('Only cases of this container: its SSCC.'),
  gtin: caseText.optional().describe('Only cases of this product that are no container’s and no document’s.'),
  series: caseText.optional().describe('Only cases of this series.'),
  assignee: caseText.optional().describe('Only cases that are assigned so.'),
  part_of: z.uuid().optional().describe('Only cases that hold items of this one.'),
  overdue: flag
    .optional()
    .describe('true: only those that are open or acknowledged past their due moment; false: all others.'),
  ...page,
});

/** Query parameters of the report on deadlines; names as in the API. */
export const timelinessParameters = z.strictObject({
  role: z.enum(DEADLINE_ROLES).optional().describe('sender: only what is ours to send; receiver: ours to answer.'),
  account: ofAccount,
  doc_type: ofType,
  operation_from: instant
    .optional()
    .describe('Only documents that claim this instant or a later one (RFC 3339), or claim none and were known then.'),
  operation_to: instant.optional().describe('Only documents that claim an earlier instant, or else were known then.'),
  late: flag.optional().describe('true: only what is late, met or not, or due with content not known; false: all.'),
  ...page,
});

export const historyParameters = z.strictObject({
  as_of: instant
    .optional()
    .describe(
      'Only movements that the registry had accepted at this instant (RFC 3339, with an offset or Z): by the end of ' +
        'its second, because lists of the registry tell no more.',
    ),
  known_at: z
    .union([
      z
        .string()
        .regex(/^\d{1,18}$/, 'must be a position of the log')
        .transform((text) => BigInt(text)),
      instant,
    ])
    .optional()
    .describe(
      'As it was known at this position of the log, or at this instant: later corrections are left out. ' +
        '503 unavailable while the record of packs has not come so far.',
    ),
});

/** A day of the calendar; no calendar of ours has a year 0. */
const day = z.iso.date('must be a day as YYYY-MM-DD').refine((text) => !text.startsWith('0000'), 'has no such year');
export const placeId = z
  .string()
  .regex(/^[0-9A-Za-z-]{14,36}$/, 'must be a place (14 digits) or the id of a participant');
export const gtinText = z.string().regex(/^\d{14}$/, 'must be a GTIN, 14 digits');
export const seriesText = z.string().min(1).max(20);
const packStatus = z.string().refine(isStandKnown, 'must be a status of a pack, such as in_circulation');

const words = <Word extends string>(all: readonly Word[]) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(all)).min(1));
const isTrue = z.literal('true').optional();

/** Which packs are meant. */
const packFilter = {
  gtin: gtinText.optional().describe('Only packs of this product.'),
  series: seriesText.optional().describe('Only packs of this series.'),
  series_unknown: isTrue.describe('true: only packs whose series no document has told.'),
  place: placeId.optional().describe('Only packs that stand at this place, or are on their way to it.'),
  status: packStatus.optional().describe('Only packs in this status at the registry.'),
  expires_by: day.optional().describe('Only packs that may be used until this day (YYYY-MM-DD) at most.'),
  expires_within: wholeNumber(0, 36_500)
    .optional()
    .describe(
      'Only packs that may be used for so many days more at most, counted from the day in the registry’s zone.',
    ),
};

/** Query parameters of the list of packs. */
export const packListParameters = z.strictObject({
  ...packFilter,
  status_unknown: isTrue.describe('true: only packs whose status no document has told.'),
  place_unknown: isTrue.describe('true: only packs whose place no document has told.'),
  place_left: isTrue.describe('true: only packs that have left all places that are known.'),
  received: flag
    .optional()
    .describe(
      'false: only packs that were never ours: on their way to us, or refused or recalled on it; true: all others.',
    ),
  fate: words(SERIES_FATES)
    .optional()
    .meta({ type: 'string', description: `Only packs of these fates, by commas: ${SERIES_FATES.join(',')}.` }),
  container: z
    .string()
    .regex(/^\d{18}$/, 'must be an SSCC, 18 digits')
    .optional()
    .describe('Only what this container holds directly.'),
  document: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only packs that this document (request_id, or the id of the registry) names, or a container in it holds, ' +
        'however deep.',
    ),
  ...page,
});

/** Query parameters of the sources of a series. */
export const seriesSourceParameters = z.strictObject({ limit: limit(10_000, 1_000, 'Sources'), cursor: page.cursor });

/** Query parameters of the stock. */
export const stockParameters = z.strictObject({
  ...packFilter,
  by: words(STOCK_PARTS)
    .default([...STOCK_PARTS])
    .meta({ type: 'string', default: STOCK_PARTS.join(','), description: 'What the lines are told apart by.' }),
});

/** Codes that are checked at once. */
const MOST_CODES = 500;

/** Packs that are checked, as typed or scanned. */
export const packCheckBody = z.strictObject({
  purpose: z.enum(CHECK_PURPOSES).describe('What is to be done with them.'),
  place: placeId.describe('The branch that asks.'),
  day: day
    .optional()
    .describe('The day at the place (YYYY-MM-DD), by which packs have expired. Default: that of the registry’s zone.'),
  codes: z.array(z.string().min(1).max(1_000)).min(1).max(MOST_CODES).describe('SGTINs, or scans of their codes.'),
});

export const commandParameters = z.strictObject({
  account: accountName.optional().describe('Account of the commands that name none.'),
});
export const commandPath = z.strictObject({ commandId });

/** Parses parameters; the error names the first that is wrong. */
export function parameters<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message, isUnknown } = firstFault(parsed.error);
  throw invalidParameter(String(path[0] ?? ''), isUnknown ? 'no such parameter' : message);
}

/**
 * NUL is part of no value of ours, and a database would take it for a fault. Refused for every route in one place,
 * in path and query.
 */
export function refuseNul(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    const given = Object.entries({ ...(request.query as object), ...(request.params as object) });
    const field = given.find(([, value]) => String(value).includes('\0'))?.[0];
    done(field === undefined ? undefined : invalidParameter(field, 'holds a NUL (%00)'));
  });
}

/** A path's UUID, in lower case as everything is kept. */
export function uuidParameter(field: string, text: string): string {
  if (!isUuid(text))
    throw new PedigreeError('invalid_parameter', `${field}: ${text} is not a UUID`, { field, item: text });
  return text.toLowerCase();
}

/** A webhook that is to be made. */
export const webhookBody = z.strictObject({
  url: z.string().min(1).describe('https, or http on the same machine; without user, password and fragment.'),
  description: z.string().trim().min(1).max(200).optional().describe('What it is for, shown in the list.'),
  from: z
    .enum(['now', 'oldest'])
    .default('now')
    .describe('Begin with what comes from now on, or with the oldest outcome that is kept.'),
  reason: reason.optional(),
});

/** Why a webhook is removed, or has a new secret. */
export const webhookReason = z.strictObject({ reason: reason.optional() });

/** How a webhook that was halted goes on. */
export const webhookResumption = z.strictObject({
  from: z
    .enum(['here', 'next', 'oldest', 'now'])
    .default('here')
    .describe('Go on where it stopped, behind the one that it refuses, with the oldest that is kept, or from now on.'),
  reason: reason.optional(),
});

/** Why what is held is released or ended. */
export const holdBody = z.strictObject({ reason });

/** A failed task, or what is parked, that is to be tried again, and why. */
export const retryBody = z.strictObject({
  key: z.string().min(1).max(400).describe('As the lists of failed tasks and of what is parked give it.'),
  reason,
});

const throughAccount = accountName.optional();

/** Why what was given up of a document of others is asked for again. */
export const inboundRetry = z.strictObject({
  account: throughAccount.describe('Through whom. Default: the account in whose list it stood.'),
  reason,
});
/** The same of all documents of one account. */
export const inboundRetries = z.strictObject({
  of_account: accountName.describe('Of the documents that stood in the list of this account.'),
  account: throughAccount.describe('Through whom. Default: `of_account`.'),
  limit: z.int().min(1).max(1_000).default(100).describe('At most so many, those of longest ago first.'),
  reason,
});

/** Why orphans are carried on. */
export const replanBody = z.strictObject({ reason });

export const deadLetterListParameters = z.strictObject({
  limit: limit(10_000, 100, 'Letters'),
  discarded: flag.optional().describe('true: those that were discarded, the newest first, with who did it and why.'),
});
export const deadLetterPath = z.strictObject({ id: z.string().min(1).max(200) });
/** Why a dead letter goes back into the queue, or is discarded. */
export const letterDecision = z.strictObject({ reason });

/** Query parameters of the changes of settings. */
export const configurationParameters = z.strictObject({
  program: z.string().min(1).max(100).optional().describe('Only changes of this program, for example worker.'),
  part: configurationPart.optional().describe('Only changes of this part of the settings.'),
  before: wholeNumber(0, 999_999_999)
    .optional()
    .describe('Only what came before this version: next_before of an answer.'),
  limit: page.limit,
});

export const reconciliationPath = z.strictObject({ runId: z.string().min(1).max(100) });

export const reconciliationListParameters = z.strictObject({
  before: z.string().min(1).max(100).optional().describe('next_before of an answer.'),
  limit: limit(100, 20, 'Comparisons'),
});

/** Query parameters of a run's findings. */
export const reconciliationFindingParameters = z.strictObject({
  kind: findingKind.optional().describe('Only findings of this kind.'),
  after: wholeNumber(0, 999_999_999).default(0).describe('next_after of an answer.'),
  limit: limit(5_000, 1_000, 'Findings'),
});
