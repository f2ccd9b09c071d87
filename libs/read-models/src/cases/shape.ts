import { z } from 'zod';
import { CASE_PHASES, CASE_RESOLUTIONS, CASE_RUN_KINDS, CASE_SEVERITIES, REMEDY_ACTIONS } from '#domain';
import { timeline } from '../document-timeline/shape.js';
import { instant, position, sha256, whole, words } from '../shapes.js';

export const caseSeverity = z.enum(CASE_SEVERITIES);
const caseState = z.enum(CASE_PHASES);
export const caseResolution = z.enum(CASE_RESOLUTIONS);
export const caseCauseKind = z.enum(['document', 'container', 'series', 'part']);

const summaryFields = {
  case_id: z.uuid(),
  code: z.string().describe('Reason code of its findings.'),
  severity: caseSeverity,
  state: caseState.describe('`explained`: a person knows why, and it did not grow since.'),
  ...words,
  cause: caseCauseKind.describe('What its findings have in common: the fields below say it.'),
  document: z.string().optional().describe('request_id; the id of the registry where the document is not ours.'),
  container: z.string().optional().describe('SSCC of the outermost container that the findings name.'),
  gtin: z.string().optional(),
  series: z.string().optional(),
  place: z.string().optional(),
  part_of: z.uuid().optional().describe('The case out of which a person took these items.'),
  assignee: z.string().optional(),
  item_count: whole.describe('As of the last run of packs that told it; 1 where only runs of documents have.'),
  unjudged: whole
    .optional()
    .describe('How many of these items that run did not find, and could not tell that they are over.'),
  first_seen_at: instant.describe('Moment of the first run that told it.'),
  last_seen_at: instant.describe(
    'Newest moment of a run that told it: one found it, or judged some of its items over.',
  ),
  runs_seen: whole.describe('How many runs told it.'),
  due_at: instant,
  overdue: z.boolean().describe('Its due moment has passed, and it is open or acknowledged.'),
  resolved_at: instant.optional(),
  resolved_by: z.enum(['person', 'run', 'receipt']).optional(),
  resolution: caseResolution.optional().describe('As the person said who resolved it.'),
  remedy_request_id: z.string().optional().describe('The document that was sent for it, while that is under way.'),
  position,
};

export const caseSummary = z.strictObject(summaryFields);

const lastRun = z.strictObject({
  kind: z.enum(CASE_RUN_KINDS).describe('documents: a run of /v1/reconciliations; packs: a comparison of packs.'),
  id: z.string(),
  moment: instant,
  findings_sha256: sha256.describe('Of all findings of the run.'),
  file: z.string().optional().describe('The file of the run’s folder in which the items stand.'),
  from: whole.optional().describe('First row of it, from 0; or number of the first finding.'),
  to: whole.optional().describe('The row behind the last one.'),
});

export const caseDetail = z.strictObject({
  ...summaryFields,
  last_run: lastRun.describe('The one of the newest moment that told it.'),
  packs_run: lastRun
    .optional()
    .describe('The last run of packs that told it, where the last run is one of documents: its rows are the items.'),
  items: z.array(z.string()).optional().describe('Of a part: its items.'),
  suggested_action: z
    .enum(REMEDY_ACTIONS)
    .optional()
    .describe('The document that can be sent for it as it stands: POST /v1/cases/{caseId}/releases.'),
  parts: z.array(z.uuid()).describe('Cases that hold items of this one.'),
  timeline,
});
