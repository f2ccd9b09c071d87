/** A range of media types in `Accept`, with its weight (RFC 9110, 12.5.1). */
interface Range {
  type: string;
  weight: number;
}

/**
 * Of these media types the one that the caller wants most; undefined where JSON is wanted as much, as by a caller that
 * says nothing. A type that is named counts before one that only a wildcard means, and of two with the same weight the
 * one that is named first.
 */
export function wantedType<Type extends string>(accept: string | undefined, types: readonly Type[]): Type | undefined {
  const ranges = rangesIn(accept ?? '*/*');
  const ranked = [JSON_TYPE, ...types].map((type) => ({ type, ...standing(type, ranges) }));
  const best = ranked.reduce((a, b) => (isBefore(b, a) ? b : a));
  return best.type === JSON_TYPE || best.weight === 0 ? undefined : (best.type as Type);
}

/** Whether a caller takes JSON, if nothing that it wants more is there. */
export const acceptsJson = (accept: string | undefined): boolean =>
  standing(JSON_TYPE, rangesIn(accept ?? '*/*')).weight > 0;

const JSON_TYPE = 'application/json';

function rangesIn(accept: string): Range[] {
  return accept.split(',').map((text) => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((one) => one.startsWith('q='))?.slice('q='.length);
    return { type, weight: weight === undefined || Number.isNaN(Number(weight)) ? 1 : Number(weight) };
  });
}

interface Standing {
  weight: number;
  /** Place among the ranges; behind all of them for a type that a wildcard means. */
  place: number;
}

/** The weight of a type is that of the range that means it most exactly. */
function standing(type: string, ranges: readonly Range[]): Standing {
  for (const meant of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const place = ranges.findIndex((range) => range.type === meant);
    if (place >= 0) return { weight: (ranges[place] as Range).weight, place: meant === type ? place : ranges.length };
  }
  return { weight: 0, place: ranges.length };
}

const isBefore = (one: Standing, other: Standing): boolean =>
  one.weight > other.weight || (one.weight === other.weight && one.place < other.place);
