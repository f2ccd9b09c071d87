/** How much of a pack is left: `0`, or a fraction in lowest terms such as `7/10`. */
export type Left = string;

type Fraction = readonly [above: bigint, below: bigint];

/**
 * What is left after a part was sold, used or withdrawn.
 * @param before absent for a whole pack.
 * @param part as documents write it, a/b; absent for all that is left.
 */
export function afterUse(before: Left | undefined, part: string | undefined): { left: Left; isMoreThanWhole: boolean } {
  const used = part === undefined ? undefined : fractionOf(part);
  if (used === undefined) return { left: '0', isMoreThanWhole: false };
  const [leftAbove, leftBelow] = (before === undefined ? undefined : fractionOf(before)) ?? [
    before === '0' ? 0n : 1n,
    1n,
  ];
  const above = leftAbove * used[1] - used[0] * leftBelow;
  if (above <= 0n) return { left: '0', isMoreThanWhole: above < 0n };
  return { left: inLowestTerms(above, leftBelow * used[1]), isMoreThanWhole: false };
}

/** Undefined for what is no fraction. */
function fractionOf(text: string): Fraction | undefined {
  const [, above, below] = /^(\d{1,30})\/(\d{1,30})$/.exec(text) ?? [];
  return above === undefined || below === undefined || BigInt(below) === 0n
    ? undefined
    : [BigInt(above), BigInt(below)];
}

function inLowestTerms(above: bigint, below: bigint): Left {
  let [a, b] = [above, below];
  while (b !== 0n) [a, b] = [b, a % b];
  return `${above / a}/${below / a}`;
}
