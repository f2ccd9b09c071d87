import type { PackState } from '../packs/pack.js';
import type { Participant, World } from '../packs/world.js';

/** When packs that nobody marked here were released: standing consignments and planted ones. */
const RELEASED_MS = Date.parse('2026-01-01T00:00:00Z');

/**
 * `2026-11-21T10:00:00Z`, as the registries of goods write moments; document lists write them otherwise (public-facts
 * 1.2).
 */
export function isoSecond(unixMs: number): string {
  const known = written.get(unixMs);
  if (known !== undefined) return known;
  if (written.size >= MAX_WRITTEN) written.clear();
  const text = `${new Date(unixMs).toISOString().slice(0, 19)}Z`;
  written.set(unixMs, text);
  return text;
}

/** Packs of one document share its moment, so the same few are written over and over. */
const written = new Map<number, string>();
const MAX_WRITTEN = 10_000;

/** Whether a name holds what was asked for, in either case of letters. */
export const holds = (text: string | undefined, part: string | undefined): boolean =>
  part === undefined || (text ?? '').toLowerCase().includes(part.toLowerCase());

/**
 * Whether the participant may see the pack's record: its owner, a side of its shipment, or who keeps it at a place of
 * his (public-facts 1.9).
 */
export const mayRead = (world: World, participant: Participant, { owner, place, transfer }: PackState): boolean =>
  owner === participant.key ||
  world.participantAt(place) === participant ||
  (transfer !== undefined && [transfer.from, transfer.to].some((side) => world.participantAt(side) === participant));

export const emittedMs = ({ trail }: PackState): number => {
  let first = trail;
  while (first?.previous !== undefined) first = first.previous;
  return first?.change.docType === 10_311 || first?.change.docType === 311 ? first.change.atMs : RELEASED_MS;
};
export const statusSinceMs = (state: PackState): number => state.trail?.sinceMs ?? RELEASED_MS;
export const lastChangeMs = (state: PackState): number => state.trail?.change.atMs ?? RELEASED_MS;

/** `31.12.2028` as a moment: of the pack, or else that of the world. */
export function expiration({ standing }: World, expires = standing.expirationDate): string {
  const [day, month, year] = expires.split('.');
  return `${year}-${month}-${day}T00:00:00Z`;
}
