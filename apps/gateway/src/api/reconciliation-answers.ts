import { z } from 'zod';
import { shapes } from '#read-models';
import { FINDING_KINDS } from '#reconciliation';

/** The shapes of the answers about reconciliations; names as in the API. */

const { instant, sha256, whole: count } = shapes;

export const findingKind = z.enum(FINDING_KINDS);

const counts = z.strictObject({
  documents: count.describe('Documents of ours that were compared.'),
  listed: count.describe('Outgoing documents that the lists have shown.'),
  missing_at_registry: count,
  status_differs: count,
  held_twice: count,
  overdue: count,
  not_covered: count.describe('Not looked for: no list has covered their time yet.'),
  stale_status: count.describe('The list is older than our outcome, so that it contradicts nothing.'),
});

const side = z.strictObject({ digest: sha256, rows: count });
const packs = z.strictObject({
  completed_at: instant,
  as_of: instant.describe('All ages count from here.'),
  places: z.array(z.string()).nullable().describe('Places that the stock speaks of; null: of all.'),
  sides: z.strictObject({
    stock: side.optional(),
    record: side.optional(),
    registry: side.optional(),
    disposals: side.optional(),
    documents: side.optional(),
  }),
  record_at: z.string().optional().describe('Log position of our record.'),
  inputs_digest: sha256.describe('Over the digests of the sides, the settings and the rules.'),
  findings: count,
  counts: z.record(z.string(), count).describe('Findings by code.'),
  explained: z.record(z.string(), count).describe('Differences that a rule explains, by that rule.'),
  not_looked_for: z.array(z.string()).describe('Codes that need a side which is absent.'),
  stands_on: z
    .strictObject({ run: z.string(), registry: sha256.describe("Digest of that run's registry side.") })
    .optional()
    .describe('The run from which rows of the registry were taken over. Part of inputs_digest.'),
  registry_unconfirmed: z
    .literal(true)
    .optional()
    .describe(
      "The registry's side is a file, and nobody asked the registry about what was found: no case opens by it.",
    ),
  registry_named_only: z
    .literal(true)
    .optional()
    .describe('The registry was asked by name alone: packs that only the registry has were not looked for.'),
  calls: count.describe('Calls at the registry.'),
  reading: z
    .strictObject({
      asked: count.describe('Rows that the registry answered for this run.'),
      taken_over: count.describe('Rows that an earlier run had read. No finding rests on one.'),
      calls_of_full: count.describe('Calls that asking about all would have taken, by the last run that did so.'),
      oldest_at: instant.nullable().describe('The oldest answer among the rows.'),
      full_run: z.string().describe('The run that last asked about all.'),
      full_at: instant.describe('When it began to read.'),
      containers: count.optional().describe('Containers of the stock that the registry was asked about.'),
      containers_through: z
        .string()
        .optional()
        .describe('The last of these containers. The next run goes on behind it.'),
      containers_behind: z.string().optional().describe('The last one of the run before, behind which they begin.'),
      exported: z
        .strictObject({
          moment: instant.describe('Its rows are no older.'),
          ...{ rows: count, refused: count, stood: count.describe('Rows on which no finding would rest.') },
          given: sha256.optional().describe('Digest of the snapshot that was given. Absent: the registry made it.'),
        })
        .optional()
        .describe('The export whose rows stand beside those that were asked.'),
      why_full: z.string().optional().describe('Why this run was allowed to take rows over, and took none.'),
    })
    .optional()
    .describe('Absent where the registry was not read.'),
  digest: sha256.describe('Over inputs and findings: the same for two runs over the same.'),
});

const runFields = {
  id: z.string(),
  kind: z.enum(['documents', 'packs']).describe('What was compared.'),
  state: z.enum(['requested', 'completed', 'failed']),
  problem: z.string().optional().describe('Why it failed.'),
  progress: z.string().optional().describe('How far it is, or what its last attempt met. Absent at its end.'),
  estimate: z
    .strictObject({ step: z.string(), done: count, of: count, seconds_left: count.nullable() })
    .optional()
    .describe('How far the step in hand is. seconds_left: at this pace, or what the calls take at least.'),
  dry_run: z.literal(true).optional().describe('Neither log nor cases have it.'),
  requested_at: instant,
  requested_by: z.string(),
  reason: z.string(),
  findings_removed_at: instant
    .optional()
    .describe(
      'Since when its findings are kept no longer (RECONCILE_FINDINGS_KEPT_DAYS); their number and digest stay.',
    ),
  result: z
    .strictObject({
      completed_at: instant,
      as_of: instant.describe('When both sides were read.'),
      positions: z.record(z.string(), z.string()).describe('Log positions at which the read models stood.'),
      inputs_digest: sha256.describe('Over the rows of both sides, what the lists cover, and the limits.'),
      findings: count,
      findings_left_out: count
        .optional()
        .describe('Of these, the last ones: counted, and not kept. Lists and files end before them. Absent: none.'),
      counts,
      not_ours: z
        .record(z.string(), count)
        .describe('Outgoing documents that are not ours, by channel: look at /v1/inbound?direction=outgoing.'),
      digest: sha256.describe('Over inputs and findings: the same for two runs over the same.'),
    })
    .optional()
    .describe('Of documents. Absent while it was not made yet.'),
  packs: packs.optional().describe('Of packs. Absent while it was not made yet.'),
};

export const reconciliation = z.strictObject(runFields);
export const reconciliationPage = z.strictObject({
  items: z.array(reconciliation).describe('Newest first.'),
  next_before: z.string().optional().describe('Give it as `before`. Absent on the last page.'),
});

const documentFinding = z.strictObject({
  n: count,
  kind: findingKind,
  reason_code: z.string(),
  request_id: z.string(),
  document_id: z.string().optional(),
  account: z.string().optional(),
  doc_type: count.optional(),
  sentence: z.string(),
  remedy: z.string(),
  detail: z.record(z.string(), z.unknown()).describe('What was compared.'),
});

/** Findings of documents, or of packs: what each side says of an item, null where it says nothing. */
export const findingPage = z.strictObject({
  items: z.array(
    z.union([documentFinding, z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())]),
  ),
  next_cursor: shapes.nextCursor,
});

export const reconciliationDetail = z.strictObject({
  ...runFields,
  findings: z
    .array(documentFinding)
    .optional()
    .describe('Of documents. Absent of packs, whose findings are at /v1/reconciliations/{runId}/findings.'),
  next_after: count.optional().describe('Give it as `after` for further findings. Absent on the last page.'),
});
