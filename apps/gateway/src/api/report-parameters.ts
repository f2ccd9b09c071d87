import { z } from 'zod';
import { OVERRIDE_KINDS, SHELF_PARTS, TRANSFER_DIRECTIONS } from '#read-models';
import { gtinText, instant, page, placeId, reason, seriesText, wholeNumber } from './parameters.js';

const days = (least: number, usual: number, description: string) =>
  wholeNumber(least, 36_500).default(usual).meta({ default: usual, description });

const DEFAULT_PARTS = ['place', 'gtin', 'series', 'expires_on'] as const;

const shelf = {
  gtin: gtinText.optional().describe('Only packs of this product.'),
  series: seriesText.optional().describe('Only packs of this series.'),
  place: placeId.optional().describe('Only packs that stand at this place.'),
  by: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(SHELF_PARTS)).min(1))
    .default([...DEFAULT_PARTS])
    .meta({
      ...{ type: 'string', default: DEFAULT_PARTS.join(',') },
      description: `What the lines are told apart by: ${SHELF_PARTS.join(', ')}. sgtin: a line for each pack.`,
    }),
};

/** Query parameters of the reports; names as in the API. */
export const unmovedParameters = z.strictObject({
  days: days(1, 180, 'For so many days nothing has moved them.'),
  ...shelf,
});
export const expiringParameters = z.strictObject({
  days: days(0, 90, 'Within so many days; what has expired already is in it.'),
  ...shelf,
});
export const transferParameters = z.strictObject({
  days: days(1, 30, 'Not accepted for longer than so many days.'),
  direction: z.enum(TRANSFER_DIRECTIONS).optional().describe('sent: a partner is awaited; received: we are.'),
  partner: placeId.optional().describe('Only transfers from or to this place.'),
});
export const overrideParameters = z.strictObject({
  kind: z.enum(OVERRIDE_KINDS).optional().describe('Only overrides of this kind.'),
  actor: z.string().min(1).max(200).optional().describe('Only what this person, program or API key overrode.'),
  from: instant.optional().describe('Only what was recorded at this moment or later.'),
  to: instant.optional().describe('Only what was recorded before this moment.'),
  ...page,
});

/** What a mock recall is about, and why it is made. */
export const mockRecallBody = z.strictObject({
  gtin: gtinText.describe('The product: 14 digits.'),
  series: seriesText.describe('The series, letter by letter.'),
  reason,
});
export const mockRecallListParameters = z.strictObject(page);
