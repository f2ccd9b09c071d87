import { z } from 'zod';
import { DEADLINE_CHANNELS, DEADLINE_MET, DEADLINE_ROLES, DUE_UNKNOWN, DUTY_STATES, INBOUND_OUTCOMES } from '#domain';
import { instant, nextCursor, position, whole } from '../shapes.js';
import { DELAY_CAUSES } from './cause.js';

/** What names the calendar that an answer rests on. */
export const calendarName = z.strictObject({
  name: z.string(),
  edition: z.string(),
  fictitious: z.string().optional().describe('The calendar is made up: nothing that rests on it is law.'),
});

/** By what a document is due. */
const dueBy = z
  .strictObject({ clause: z.string(), edition: z.string(), calendar: calendarName })
  .describe('The clause that sets the deadline, with its edition, and the calendar that says so.');

/** Of a document with a deadline: the first moment that is too late, and by what. */
export const dueFields = {
  due_at: instant.optional().describe('From this moment on it is too late. Absent where no deadline is known.'),
  due_by: dueBy.optional(),
};

export const dutyRow = z.strictObject({
  role: z.enum(DEADLINE_ROLES).describe('sender: ours to send; receiver: told to us, and ours to answer.'),
  channel: z.enum(DEADLINE_CHANNELS).describe('api: this system.'),
  request_id: z.string().optional().describe('Of a document of ours: look at /v1/documents/{requestId}.'),
  document_id: z.string().optional().describe('Of another: look at /v1/inbound/{documentId}.'),
  command_id: z.string().optional(),
  reference: z.string().optional(),
  account: z.string(),
  doc_type: whole.optional(),
  doc_num: z.string().optional(),
  operation_date: z.string().optional().describe('As the document claims it.'),
  known_at: instant.describe('When its command was registered here, or a list of the registry showed it.'),
  sent_at: instant.optional().describe('When the registry took it, as far as we know.'),
  accepted_at: instant.optional().describe("The registry's time of acceptance."),
  outcome: z.enum(INBOUND_OUTCOMES).optional(),
  state: z.enum(DUTY_STATES),
  why: z
    .enum([...DUE_UNKNOWN, 'content_not_known'])
    .optional()
    .describe('Of not_known: why nobody can tell.'),
  started_at: instant.optional().describe('When the clock started.'),
  ...dueFields,
  met_when: z.enum(DEADLINE_MET).optional().describe('What meets it: that the registry took it, or accepted it.'),
  done_at: instant.optional().describe('When it was met.'),
  days_late: whole.optional().describe("On how many days of the calendar's zone it was late, until now where not met."),
  items: whole.optional().describe('For the receiver: items of it that were compared, at most 1,000.'),
  items_answered: whole.optional().describe('Those that an accepted document of ours names.'),
  answered_by: z.string().optional().describe('The request_id of our last document that answers it, by `met_when`.'),
  replaced_by: z.string().optional().describe('The request_id of the document that was sent in its place.'),
  cause: z.enum(DELAY_CAUSES).optional().describe('What it waited for at the due moment.'),
  cause_since: instant.optional(),
  sentence: z.string().optional().describe('The cause in words.'),
  calendar: calendarName.optional().describe('By which it was judged. Absent: none is set.'),
  as_of: instant.describe('At which moment it was judged.'),
  up_to: position.describe('As it was known at this position of the log.'),
});

export const timeliness = z.strictObject({
  calendar: calendarName.optional().describe('Absent: none is set, and nobody can tell what is late.'),
  as_of: instant.describe('What is not met is judged at this moment.'),
  up_to: position.describe('Everything up to this position of the log is in the answer.'),
  items: z.array(dutyRow),
  next_cursor: nextCursor.describe('Absent on the last page. A page may be short, or empty, and not be the last one.'),
});
