import { z } from 'zod';
import { REGISTRY_LISTS, SUSPENSION_ACTIONS, SUSPENSION_PHASES, SUSPENSION_SOURCES } from '#domain';
import { isGtin } from '#kernel';
import { RECENT_DAYS } from '#read-models';
import { flag, instant, page, wholeNumber } from './parameters.js';

const gtin = z.string().refine(isGtin, 'must be a GTIN');
const series = z.string().min(1).max(100);

/** Query parameters of the list of suspensions; names as in the API. */
export const suspensionListParameters = z.strictObject({
  state: z.enum(SUSPENSION_PHASES).optional().describe('Only those that stand so; open: a reply is owed.'),
  source: z
    .enum(SUSPENSION_SOURCES)
    .optional()
    .describe('Only those by the registry’s list, by letters, or by decisions in the registry.'),
  action: z.enum(SUSPENSION_ACTIONS).optional().describe('Only those whose newest version says so.'),
  in_force: flag.optional().describe('true: all but those that were released.'),
  gtin: gtin.optional().describe('Only those that mean this product.'),
  series: series.optional().describe('Only those that mean this series, letter by letter.'),
  ...page,
});

/** Query parameters of one suspension. */
export const suspensionParameters = z.strictObject({
  recent_days: wholeNumber(1, 3_650)
    .default(RECENT_DAYS)
    .meta({ default: RECENT_DAYS, description: 'Packs that were shipped within so many days are recent.' }),
});

/** Query parameters of the versions of the list. */
export const suspendedListParameters = z.strictObject({
  source: z.enum(REGISTRY_LISTS).optional().describe('Only those of one list: of suspended packs, or of decisions.'),
  ...page,
});

/** The series in the path of the question whether it was suspended. */
export const suspensionSeries = z.strictObject({ gtin, series });

/** Query parameters of that question. */
export const suspensionAnswerParameters = z
  .strictObject({
    at: instant
      .refine((at) => at.getTime() <= Date.now(), 'has not come yet')
      .optional()
      .describe('The moment (RFC 3339, with an offset or Z), not in the future. Default: now.'),
    document: z
      .uuid()
      .optional()
      .describe('request_id of a document: the moment of the attempt that brought it, or may have. Not with `at`.'),
  })
  .refine(({ at, document }) => at === undefined || document === undefined, {
    error: 'name a moment or a document, not both',
    path: ['document'],
  });
