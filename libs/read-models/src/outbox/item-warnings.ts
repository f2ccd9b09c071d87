import { z } from 'zod';
import { ITEM_WARNING_CODES, type ItemWarning } from '#domain';

const SENTENCES: Record<ItemWarning['code'], string> = {
  blanks_cut: 'Blanks or line ends stood around these items, and were cut off.',
  elements_cut: 'These were scans with more elements (expiry, batch, crypto tail), which were cut off.',
  keyboard_layout:
    'These were typed under a Russian keyboard layout, and were mapped back to Latin letters. Set the layout of ' +
    'the scanner.',
  look_alike_letters:
    'All letters of these are Cyrillic ones that look like Latin ones. They were read as typed under a Russian ' +
    'keyboard layout: compare them with the packs.',
  wrong_check_digit:
    'The check digit of the GTIN or SSCC is wrong. The document was taken as it is: compare it with the pack.',
  suspended:
    'These packs were of a suspended series when the command came. A document of a type that the profile stops is ' +
    'held before it is sent.',
  series_unknown: 'A series of their product was suspended when the command came, and nobody has told which is theirs.',
};

/** What is told of the items of a command beside its acknowledgement, and with its outcome. */
export const itemWarnings = z
  .array(
    z.strictObject({
      code: z.enum(ITEM_WARNING_CODES),
      sentence: z.string().describe('What it means, and what to do.'),
      count: z.number().int().min(1).describe('How many items; of check digits, how many numbers.'),
      places: z
        .array(z.strictObject({ field: z.string().describe('RFC 6901 pointer into the command.'), item: z.string() }))
        .describe('The first of them, as they were read; of code suspended also packs in containers that it names.'),
      suspensions: z.exactOptional(z.array(z.string()).describe('Of code suspended: /v1/suspensions/{id}.')),
    }),
  )
  .describe(
    'What was mended in the items of the command, wrong check digits, suspended packs. Nothing is refused for them.',
  );

export const toldWarnings = (warnings: ItemWarning[]): z.infer<typeof itemWarnings> =>
  warnings.map(({ code, ...warning }) => ({ code, sentence: SENTENCES[code], ...warning }));
