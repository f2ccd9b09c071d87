import type { SuspensionFinding } from '#domain';
import { counted } from './wording.js';

const MOST_NAMED = 3;

/** For example `2 packs of series A1 of 04600000000015 (A, B); 1 item of unknown series (C)`. */
export function stoppedListed({ series, packCount, unknown }: SuspensionFinding): string {
  const named = series
    .slice(0, MOST_NAMED)
    .map(
      (one) =>
        `${counted(one.packCount, 'pack')} of series ${one.series} of ${one.gtin} ` +
        `(${firstOf(one.packs, one.packCount)})`,
    );
  const told = series.slice(0, MOST_NAMED).reduce((sum, one) => sum + one.packCount, 0);
  const more = packCount > told ? [`${counted(packCount - told, 'more pack')}`] : [];
  const rest =
    unknown === undefined
      ? []
      : [`${counted(unknown.itemCount, 'item')} of unknown series (${firstOf(unknown.items, unknown.itemCount)})`];
  return [...named, ...more, ...rest].join('; ');
}

const firstOf = (items: string[], count: number): string => {
  const named = items.slice(0, MOST_NAMED);
  return `${named.join(', ')}${count > named.length ? ` and ${count - named.length} more` : ''}`;
};
