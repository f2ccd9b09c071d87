/** The items in their order, cut into stretches: one that stands alone is a stretch of its own. */
export function stretchesOf<T>(items: readonly T[], standsAlone: (item: T) => boolean): T[][] {
  const stretches: T[][] = [];
  let isOpen = false;
  for (const item of items) {
    const isAlone = standsAlone(item);
    if (isOpen && !isAlone) stretches.at(-1)?.push(item);
    else stretches.push([item]);
    isOpen = !isAlone;
  }
  return stretches;
}
