import { z } from 'zod';
import { DEADLINE_ROLES, DUE_UNKNOWN } from '#domain';
import { calendarName, shapes } from '#read-models';

/** The shapes of answers about the machinery. Names as in the API. */

const { instant, position, sha256, whole } = shapes;
const role = z.enum(DEADLINE_ROLES);

export const operationsStatus = z.strictObject({
  tasks: z.strictObject({
    ready: whole,
    leased: whole,
    failed: whole.describe('Given up: somebody must look.'),
    overdue: whole,
    oldest_due_at: instant.optional(),
  }),
  programs: z.array(
    z.strictObject({
      name: z.string().describe('`worker`, `auditor`, `reconciler`, `gateway`.'),
      state: z
        .enum(['running', 'missing', 'not_running'])
        .describe('`missing`: it should run (`PEDIGREE_EXPECTED_PROGRAMS`) and does not.'),
      processes: z
        .array(
          z.strictObject({
            process: z.string().describe('Host and number.'),
            state: z.enum(['running', 'silent', 'stopped']),
            started_at: instant,
            seen_at: instant,
          }),
        )
        .describe('Those that run; when none does, the one that was there last.'),
    }),
  ),
  subscriptions: z.array(
    z.strictObject({
      name: z.string(),
      position,
      lag: z.string().regex(/^\d+$/).describe('How far behind the log.'),
      lag_unit: z.enum(['event', 'byte']).describe('What lag counts: bytes where the log is in EventStoreDB.'),
      updated_at: instant.describe('When it moved last.'),
      state: z
        .enum(['running', 'standing_by', 'halted', 'nobody'])
        .describe(
          '`halted`: it stands at an event and a person must look. `nobody`: no process runs it. `standing_by`: ' +
            'processes wait for another to let go of it.',
        ),
      processes: z.array(z.string()).describe('Host and number of the processes that run it, or stand by.'),
      since: instant.optional().describe('Since when it is halted.'),
      reason: z.string().optional().describe('Why it is halted, and at which event.'),
    }),
  ),
  audit: z
    .strictObject({
      checkpoint: z
        .strictObject({ origin: z.string(), size: whole, signed_at: instant })
        .optional()
        .describe('The newest that was signed since the last break.'),
      witnesses: z
        .array(z.strictObject({ name: z.string(), size: whole, cosigned_at: instant }))
        .describe('The newest checkpoint of the present log that each witness has cosigned.'),
      breaks: z
        .array(
          z.strictObject({
            number: whole,
            told_at: instant,
            told_by: z.string(),
            reason: z.string(),
            before_size: whole.describe('Events that were signed before.'),
            differs_at_leaf: whole.optional().describe('The first that is another event since; absent: none is.'),
            next_origin: z.string().describe('The name of the log from there on.'),
          }),
        )
        .describe('Where a person said that the log does not go on from what was signed. Oldest first.'),
    })
    .optional()
    .describe('What the auditor has signed; absent before the first auditor has started.'),
  deadlines: z
    .strictObject({
      calendar: calendarName.extend({ sha256 }).optional().describe('Absent: none is set.'),
      sentence: z.string(),
      near: z
        .array(z.strictObject({ role, doc_type: whole, near: whole, breached: whole }))
        .describe('Documents that are not sent, or not answered: due soon, and due already.'),
      unknown: z
        .array(z.strictObject({ role, doc_type: whole, why: z.enum(DUE_UNKNOWN) }))
        .describe('Types of the last seven days of which nobody can tell when they are due.'),
    })
    .describe('As it was counted last, at most a minute ago.'),
  restoration: z
    .strictObject({
      state: z
        .enum(['loading', 'comparing', 'released'])
        .describe('`comparing`: nothing leaves for the registry before its document lists were read.'),
      backup_taken_at: instant,
      restored_by: z.string(),
      released_at: instant.optional(),
      found: z
        .strictObject({ incoming: whole, outgoing: whole })
        .describe('Documents that the registry has and this database did not know.'),
      unread: z
        .array(z.strictObject({ account: z.string(), list: z.string(), problem: z.string().optional() }))
        .describe('Lists that are still to be read.'),
    })
    .optional()
    .describe('Where this database is a restored backup.'),
});

export const failedTasks = z.strictObject({
  items: z.array(
    z.strictObject({
      key: z.string(),
      kind: z.string(),
      lane: z.string(),
      attempts: whole,
      failed_at: instant,
      error: z.string(),
    }),
  ),
});

export const orphanList = z.strictObject({
  items: z.array(
    z.strictObject({
      kind: z.enum(['document', 'group']),
      id: z.string().describe('The request_id, or the id of the group.'),
      account: z.string(),
      phase: z.string(),
      since: instant.describe('When its newest event was recorded.'),
    }),
  ),
});

export const parkedInstances = z.strictObject({
  items: z.array(
    z.strictObject({
      key: z.string().describe('By which it is tried again.'),
      saga: z.string(),
      stream: z.string().describe('Stream and version of the event at which it stands.'),
      version: whole,
      position,
      held: whole.describe('Events that wait, the one at which it stands included.'),
      error: z.string(),
      attempts: whole,
      parked_at: instant,
      tried_at: instant,
    }),
  ),
});

export const configurationPart = z.enum(['configuration', 'profile', 'accounts', 'schemas', 'software']);
const setting = z.unknown().describe('Without secrets; a long value stands as its SHA-256.');

export const configurationChanges = z.strictObject({
  items: z
    .array(
      z.strictObject({
        version: whole.describe('Its place in the stream `configuration`, from 0.'),
        position,
        at: instant,
        program: z.string(),
        part: configurationPart,
        actor: z
          .strictObject({ kind: z.string(), name: z.string(), authenticated_by: z.string() })
          .describe('Who: PEDIGREE_CHANGED_BY, else the user of the operating system.'),
        reason: z.string().describe('PEDIGREE_CHANGE_REASON, else `not given`.'),
        software_version: z.string(),
        from_digest: sha256.optional().describe('Absent for the first that was recorded of this part.'),
        to_digest: sha256.describe('SHA-256 over the canonical JSON of the whole part.'),
        fields: whole.describe('Fields that the part has.'),
        changes: z.array(
          z.strictObject({
            field: z.string().describe('RFC 6901 pointer.'),
            from: setting.optional(),
            to: setting.optional(),
          }),
        ),
        changes_left_out: z
          .number()
          .int()
          .optional()
          .describe('Further fields that differ; the event in the log has the whole part.'),
        local: z
          .array(z.strictObject({ field: z.string(), value: setting }))
          .describe('What was of the one process that started, and is not compared.'),
      }),
    )
    .describe('Newest first.'),
  next_before: whole.optional().describe('Give it as `before` for older ones. Absent on the last page.'),
});

export const deadLetterSummary = z.strictObject({
  id: z.string().describe('Names it while it lies there.'),
  message_id: z.string().optional().describe("The publisher's id of the message."),
  publisher: z
    .string()
    .optional()
    .describe('The user who published it, where the broker (property user_id) or the database vouches for him.'),
  content_type: z.string(),
  body_bytes: whole,
  code: z.string().describe('An error code as in a Problem, or `delivery_limit`.'),
  reason: z.string().describe('What is wrong, and where.'),
  dead_at: instant,
  deliveries: whole,
  discarded: z
    .strictObject({ at: instant, by: z.string(), reason: z.string() })
    .optional()
    .describe('Set for one that was discarded: it waits for nobody any more.'),
});

export const deadLetterList = z.strictObject({
  items: z.array(deadLetterSummary).describe('Oldest first; of those that were discarded the newest.'),
});

export const deadLetter = deadLetterSummary.extend({
  headers: z.record(z.string(), z.string()),
  body: z.string().optional().describe('The message as it came, where it is text in UTF-8.'),
  body_base64: z.string().optional().describe('The message as it came, where it is not.'),
});
