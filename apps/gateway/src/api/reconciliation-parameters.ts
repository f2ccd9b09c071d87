import { z } from 'zod';
import { PedigreeError } from '#kernel';
import { comparisonSettings, FETCH_WAYS, MOST_LIMIT_HOURS, USUAL_LIMITS, type RunKind } from '#reconciliation';
import { findingKind } from './reconciliation-answers.js';
import { accountName } from '../intake/command-body.js';
import { page, reason } from './parameters.js';

const snapshot = z.string().regex(/^[A-Za-z0-9_+-]{1,200}$/, 'must be the name of a snapshot');
const hours = z.int().min(0).max(MOST_LIMIT_HOURS);
const text = z.string().min(1).max(100);

/** A run about packs, as `pedigree reconcile FILE` makes one, from snapshots that the reconciler has. */
const packsBody = z.strictObject({
  stock: snapshot.optional().describe('Name of a stock snapshot in SEGMENTS_DIR/snapshots. Absent: the newest.'),
  branch: text.optional().describe('Of which the newest snapshot is meant.'),
  as_of: z
    .string()
    .regex(/^\d{1,18}$/, 'must be a log position')
    .optional()
    .describe('Our record as known at this log position: such a run opens and ends no case. Absent: now.'),
  account: accountName.optional().describe('With which the registry is read. Absent: the registry is left out.'),
  way: z.enum(FETCH_WAYS).default('auto').describe('How the registry is read.'),
  fresh_hours: hours
    .optional()
    .describe('Of auto: an export may be taken when its rows are no older. Absent: it is not.'),
  registry: snapshot
    .optional()
    .describe('A registry snapshot that is there already. With account, the registry is asked about what it finds.'),
  unconfirmed: z
    .boolean()
    .default(false)
    .describe('true: cases open also where registry is a file, and nobody asked the registry about what was found.'),
  disposals: snapshot.optional().describe('A snapshot of what the ERP has sold or written off.'),
  settings: z
    .record(z.string(), z.unknown())
    .transform((given) => comparisonSettings(given))
    .optional()
    .meta({ type: 'object', description: 'Tolerances, as in the page on reconciliation.' }),
  incremental: z
    .strictObject({
      full_every_hours: hours
        .default(USUAL_LIMITS.fullEveryHours)
        .describe('So long after a run that asked about all, all is asked again.'),
      row_hours: hours.default(USUAL_LIMITS.rowHours).describe('An answer that is older is asked for again.'),
      overlap_hours: hours
        .default(USUAL_LIMITS.overlapHours)
        .describe('Packs that moved so long before the earlier run are listed again.'),
    })
    .optional()
    .describe('Take over what an earlier run has read and nothing speaks against. Absent: the registry is asked all.'),
  most_stock_hours: z
    .int()
    .min(1)
    .max(87_600)
    .optional()
    .describe('A stock that is older makes a run that has failed.'),
  dry_run: z.boolean().default(false).describe('true: it is compared and told, and neither log nor cases have it.'),
});

/** Why a comparison is asked for, and of what. */
export const reconciliationBody = z.strictObject({
  reason,
  packs: packsBody.optional().describe('Compare packs. Absent: documents.'),
});
export type PacksAsked = z.output<typeof packsBody>;

/** Filters of findings, by the kind of run that they fit. */
const filters = {
  documents: { kind: findingKind.optional().describe('Of documents: only findings of this kind.') },
  packs: {
    code: text.optional().describe('Of packs: only findings of this reason code, for example missing_locally.'),
    severity: z.enum(['critical', 'warning', 'information']).optional().describe('Of packs: only of this severity.'),
    place: text.optional().describe('Of packs: only where any side names this place.'),
    series: text.optional().describe('Of packs: only where stock or registry names this series.'),
  },
} satisfies Record<RunKind, z.ZodRawShape>;

/** Query parameters of a run's findings as a list. */
export const findingListParameters = z.strictObject({ ...filters.documents, ...filters.packs, ...page });

/** A filter that a run does not know would seem to choose. @throws PedigreeError invalid_parameter. */
export function refuseOfOtherKind(asked: z.output<typeof findingListParameters>, kind: RunKind): void {
  const other = kind === 'packs' ? 'documents' : 'packs';
  const field = Object.keys(filters[other]).find((name) => asked[name as keyof typeof asked] !== undefined);
  if (field === undefined) return;
  const message = `${field}: this comparison is of ${kind}, and only findings of ${other} are chosen by it`;
  throw new PedigreeError('invalid_parameter', message, { field });
}
