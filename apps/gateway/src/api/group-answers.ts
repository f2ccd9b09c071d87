import { z } from 'zod';
import { groupDetail, groupSummary, shapes } from '#read-models';

/** The shapes of the API's answers about groups. Names as in the API. */

const { documentOutcome, instant, pageShape, reference, requestId } = shapes;

export const groupPage = pageShape(groupSummary);

/** A decision about what is held: acknowledged, and carried out by the worker in a moment. */
export const holdDecision = z.strictObject({
  request_id: requestId,
  decision: z.enum(['release', 'end', 'hold']),
  held_for: z
    .array(reference.extend({ outcome: documentOutcome }))
    .describe('What it was held for: the decision is about these, and no later ones.'),
  held_at_gate: z
    .strictObject({ packs: z.array(z.string()), pack_count: z.int() })
    .optional()
    .describe('Set where the known state of its packs holds it: the first of them, and how many.'),
  held_for_suspension: z
    .strictObject({ suspensions: z.array(z.string()), pack_count: z.int() })
    .optional()
    .describe('Set where suspensions hold it: which, and how many packs they concern.'),
  held_by_person: z.strictObject({ by: z.string(), reason: z.string() }).optional(),
  missing: z
    .array(reference)
    .optional()
    .describe('What it comes after, and of which nothing is known here: it waits for these no more.'),
  start: z
    .enum(['unconfirmed', 'halted'])
    .optional()
    .describe(
      'Set where nothing held the group: nobody knew whether the registry had begun, or it had halted before that. ' +
        'Its documents end once the registry shows that it has not begun.',
    ),
  in_work: z.literal(true).optional().describe('Also what the registry shows as in work is ended.'),
});

/** A group whose command nobody has run yet: durable, and not in the log. */
const acknowledgedGroup = z.strictObject({
  group_id: requestId,
  command_id: z.string(),
  account: z.string(),
  phase: z.literal('acknowledged'),
  sentence: z.string(),
  acknowledged_at: instant,
});

export const group = z.union([groupDetail, acknowledgedGroup]);
