import { z } from 'zod';
import { firstFault, PedigreeError, PLAIN_WORDS } from '#kernel';

const days = z.number().int().min(0).max(3_650);

const settings = z.strictObject({
  /** A till may tell its sales so late where it worked without network. */
  tillSalesDays: days.default(10),
  /** How long goods may be on their way before somebody asks. */
  transitDays: days.default(30),
  /** By status of the registry, where goods take longer or shorter. */
  transitDaysOf: z.record(z.string().max(100), days).default({}),
  /** A document of ours that has no outcome for longer explains nothing. */
  inFlightHours: z.number().int().min(0).max(8_760).default(24),
  /** An answer of the registry that is so much older than the stock proves no difference. */
  staleHours: z.number().int().min(1).max(8_760).default(48),
  /** Stock without movement for so long is told; null: it is not. */
  hungDays: days.nullable().default(null),
  /** Whether containers are compared; a list: at these places alone. */
  containers: z.union([z.boolean(), z.array(z.string().min(1).max(200)).max(10_000)]).default(true),
  /**
   * So many containers of the stock the registry is asked about, each by a call, where containers are compared. By the
   * interval of public facts, 17,000 take a week.
   */
  containersAsked: z.number().int().min(0).max(17_000).default(0),
  /** Our tax number (INN), whose packs are those of rows that name no owner; null: only rows that name one are told. */
  owner: z
    .string()
    .regex(/^(?:\d{10}|\d{12})$/, 'must be 10 or 12 digits')
    .nullable()
    .default(null),
});

/** Tolerances of a comparison. They are recorded in the run, and are part of its digest. */
export type ComparisonSettings = z.infer<typeof settings>;

/** @throws PedigreeError `invalid_parameter` that names the field. */
export function comparisonSettings(value: unknown): ComparisonSettings {
  const parsed = settings.safeParse(value, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  const { path, message } = firstFault(parsed.error);
  const field = path.join('.');
  throw new PedigreeError('invalid_parameter', `settings: ${field} ${message}`, { field });
}
