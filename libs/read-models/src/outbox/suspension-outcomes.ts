import { SUSPENSION_ACTIONS, SUSPENSION_SOURCES, type SuspensionEvent } from '#domain';
import type { RecordedEvent } from '#event-store';
import { z } from 'zod';
import { present } from '../list-page.js';
import { sentenceOfSuspensionEvent } from '../suspensions/event-sentences.js';
import { foldSuspension } from '../suspensions/fold.js';
import type { SuspensionRow } from '../suspensions/row.js';
import { productSeries } from '../suspensions/shape.js';
import { sha256 } from '../shapes.js';
import type { OutcomePayload } from './outcome-payload.js';

/** The types of a suspension's event that the ERP is told of. Replies, and that it is closed, are ours. */
export const SUSPENSION_OUTCOMES = [
  ...(['SuspensionListed', 'SuspensionEntered', 'SuspensionMatched', 'SuspensionChanged'] as const),
] satisfies SuspensionEvent['type'][];

export const SUSPENSION_TOPICS = SUSPENSION_ACTIONS.map((action) => `suspension.${action}`);

/** What the ERP is told of a suspension. */
export const suspensionChanged = z
  .strictObject({
    suspension_id: z.uuid(),
    action: z.enum(SUSPENSION_ACTIONS).describe('What its newest version says.'),
    in_force: z.boolean().describe('Its packs must not be sold or sent on.'),
    source: z.enum(SUSPENSION_SOURCES),
    product: z.string().describe('As the letter writes it; of a series of the list its GTIN.'),
    series: z.string().describe('As the letter or the list writes it, letter by letter.'),
    matches: z.array(productSeries).describe('Which packs are meant; empty while nobody has said so of a letter.'),
    number: z.string().optional().describe('Of the letter, as are date and from.'),
    date: z.string().optional(),
    from: z.string().optional(),
    letter_sha256: sha256.optional(),
    list_sha256: sha256.optional().describe('The version of the registry’s list that says so.'),
    sentence: z.string().describe('What it means, in one plain sentence.'),
    known_at: z.string().regex(/^\d+$/).describe('The log position at which it was known.'),
    href: z.string().describe('Where it stands now, with our packs by branch: a path of the API.'),
  })
  .describe('A series was suspended, terminated, recalled or released, or a letter was matched to products.');

/** A suspension began, was matched or changed; `history`: its stream up to that. */
export function suspensionTold(history: RecordedEvent[]): OutcomePayload {
  const row = history.reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  const event = history.at(-1);
  if (row === undefined || event === undefined) throw new Error('a suspension is told of that never began');
  const { suspensionId, action, inForce, source, position, state } = row;
  const { product, series, matches, newest } = state;
  const { number, date, from, letterSha256, listSha256 } = { ...newest } as Partial<Record<string, string>>;
  return {
    ...{ type: 'pedigree.suspension.changed.v1', topic: `suspension.${action}`, subject: suspensionId },
    data: {
      ...{ suspension_id: suspensionId, action, in_force: inForce, source, product, series, matches },
      ...present({ number, date, from, letter_sha256: letterSha256, list_sha256: listSha256 }),
      ...{ sentence: sentenceOfSuspensionEvent(event), known_at: String(position) },
      href: `/v1/suspensions/${suspensionId}`,
    },
  };
}
