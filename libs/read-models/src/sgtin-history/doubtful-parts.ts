import type { StatePart, TypeKnowledge } from '#documents';

/**
 * What of an item's state a movement leaves open, and what a movement tells. The life of one pack and the rows of many
 * take it from here, so that a doubt ends in both by the same document. Pure. Proven in state.spec.ts and
 * pack-state.prop.int.spec.ts.
 */

export type DoubtfulPart = StatePart | 'part_left';

/** Parts as one number: rows of packs are stored with these bits. */
const BITS: Record<DoubtfulPart, number> = {
  ...{ status: 1, place: 2, owner: 4, holder: 8, containment: 16, part_left: 32 },
};

export const maskOf = (parts: readonly DoubtfulPart[]): number => parts.reduce((mask, part) => mask | BITS[part], 0);
export const isIn = (mask: number, part: DoubtfulPart): boolean => (mask & BITS[part]) !== 0;

/** What a document of a type does to how much of a pack is left. */
export interface Use {
  /** The status of a pack of which nothing is left; absent for a type that uses up nothing. */
  usedUp: string | undefined;
  bringsBack: boolean;
}

type UseKnowledge = Pick<TypeKnowledge, 'usedUpStatus' | 'bringsBack'>;

export const useOf = (docType: number, types: UseKnowledge): Use => ({
  usedUp: types.usedUpStatus(docType),
  bringsBack: types.bringsBack(docType),
});

/** What is open after a document of which it cannot be told whether it happened, to an item or to what that holds. */
export function leftOpen(
  docType: number,
  { isInside, types }: { isInside: boolean; types: UseKnowledge & Pick<TypeKnowledge, 'mayChange'> },
): DoubtfulPart[] {
  const parts = types.mayChange(docType, { isInside });
  return types.usedUpStatus(docType) === undefined ? [...parts] : [...parts, 'part_left'];
}

/** What a movement that happened says; absent and NULL: nothing. */
type Said = { [K in 'status' | 'place' | 'owner' | 'holder' | 'containment' | 'part']?: string | null | undefined };

const isSaid = (word: string | null | undefined): word is string => typeof word === 'string';

/** What is doubtful no longer after a movement that happened, as bits. */
export function toldBy(said: Said, { isInside, use }: { isInside: boolean; use: Use }): number {
  const { containment } = said;
  const tellsContainer = isSaid(containment) && (!isInside || containment.startsWith('opened'));
  // Nothing is left of the pack after it, or all of it again, whatever was used before.
  const tellsPart = use.bringsBack || (use.usedUp !== undefined && !isSaid(said.part));
  return (
    (isSaid(said.status) ? BITS.status : 0) |
    (isSaid(said.place) ? BITS.place : 0) |
    (isSaid(said.owner) ? BITS.owner : 0) |
    (isSaid(said.holder) ? BITS.holder : 0) |
    (tellsContainer ? BITS.containment : 0) |
    (tellsPart ? BITS.part_left : 0)
  );
}

/** How much is left is not known after a document about a part that is no use of it, such as a correction. */
export const leavesPartOpen = ({ part }: Pick<Said, 'part'>, { usedUp }: Use): boolean =>
  isSaid(part) && usedUp === undefined;
