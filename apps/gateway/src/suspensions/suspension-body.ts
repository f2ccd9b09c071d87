import { z } from 'zod';
import { LETTER_MEDIA_TYPES, MOST_LETTER_BYTES, SUSPENSION_ACTIONS } from '#domain';
import { isGtin } from '#kernel';

const MOST_MATCHES = 100;
const MOST_PLACES = 1_000;
const MOST_PACKS = 100_000_000;

const words = (most: number) => z.string().trim().min(1).max(most);
const packs = z.int().min(0).max(MOST_PACKS);
const place = words(100).describe('Branch or place of business.');
const reason = z.string().trim().min(3).max(1_000).describe('Why: it is kept in the log, with who asked.');
const series = words(100).describe('Letter by letter: a Latin A and a Cyrillic А are two series.');

const letter = {
  number: words(200).describe('As the letter is numbered.'),
  date: z.iso.date().describe('As the letter is dated.'),
  from: words(200).describe('Who wrote it.'),
  file: z
    .strictObject({
      media_type: z.enum(LETTER_MEDIA_TYPES).describe('What the bytes are.'),
      base64: z
        .base64()
        .min(4)
        .max(Math.ceil(MOST_LETTER_BYTES / 3) * 4)
        .describe('The bytes, at most 5 MiB of them.'),
    })
    .describe('The letter itself. It becomes evidence.'),
};
const action = z.enum(SUSPENSION_ACTIONS).describe('What the letter says. terminate: circulation has ended for good.');

/** A letter as a person enters it. */
export const letterBody = z.strictObject({
  action,
  ...letter,
  product: words(500).describe('As the letter writes it.'),
  series: words(100).describe('As the letter writes it.'),
  reason,
});
export type LetterBody = z.output<typeof letterBody>;

const match = z.strictObject({ gtin: z.string().refine(isGtin, 'is no GTIN'), series });
const reply = z
  .strictObject({ place, found: packs, quarantined: packs, shipped: packs, returned: packs })
  .refine(({ found, returned, quarantined }) => quarantined <= found + returned, {
    error: 'must not be more than were found and returned',
    path: ['quarantined'],
  });

/** What a person does about a suspension. */
export const suspensionActionBody = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('match'),
    matches: z
      .array(match)
      .max(MOST_MATCHES)
      .refine((all) => new Set(all.map((one) => JSON.stringify(one))).size === all.length, 'names a series twice')
      .describe('Which packs the letter means; empty: none that we know of.'),
    reason,
  }),
  z.strictObject({
    action: z.literal('change'),
    to: action,
    ...letter,
    reason,
  }),
  z.strictObject({
    action: z.literal('reply'),
    places: z
      .array(reply)
      .min(1)
      .max(MOST_PLACES)
      .refine((all) => new Set(all.map((one) => one.place)).size === all.length, 'names a place twice')
      .describe('Each place that was looked at, also where nothing was found.'),
    reason,
  }),
  z.strictObject({ action: z.literal('close'), reason }),
]);
export type SuspensionActionBody = z.output<typeof suspensionActionBody>;

/** A person says that a doubted list is right. */
export const listConfirmationBody = z.strictObject({ reason });
