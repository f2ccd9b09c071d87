import type { EventStore, RecordedEvent } from '#event-store';
import type { Hash } from '#merkle';
import { leafOf } from '#proofs';
import type { LeafFile } from './leaf-file.js';

/** Where the log is not what was signed: the leaf, and the event that stands there now; none where the log ends. */
interface Difference {
  leaf: number;
  event: RecordedEvent | undefined;
}

const PAGE_EVENTS = 1_000;

/**
 * Reads the log from its beginning, and finds the first event that is not the leaf that was signed. Undefined where
 * each of the first `most` remembered leaves (all, without it) is an event as it was. Takes as long as reading the log
 * does: it is for whoever has an alarm.
 */
export async function firstDifference(
  store: Pick<EventStore, 'readAll'>,
  leaves: LeafFile,
  { signal, progress, most = Infinity }: {
    signal?: AbortSignal;
    progress?: (leaves: number, of: number) => void;
    most?: number;
  } = {},
): Promise<Difference | undefined> {
  const total = Math.min(await leaves.count(), most);
  let [leaf, after] = [0, 0n];
  while (leaf < total && signal?.aborted !== true) {
    const { events, readUpTo } = await store.readAll(after, { limit: PAGE_EVENTS });
    if (readUpTo <= after) return { leaf, event: undefined };
    const different = firstOther(events, await leaves.read(leaf, Math.min(events.length, total - leaf)));
    if (different !== undefined) return { leaf: leaf + different, event: events[different] };
    leaf += events.length;
    after = readUpTo;
    progress?.(Math.min(leaf, total), total);
  }
  return undefined;
}

/** Index of the first event that is not its leaf; leaves beyond the file are not looked at. */
function firstOther(events: RecordedEvent[], leaves: Hash[]): number | undefined {
  const index = leaves.findIndex((hash, i) => !isLeafOf(events[i] as RecordedEvent, hash));
  return index < 0 ? undefined : index;
}

/** In which form it was sealed, the table may not tell any more: no event has the same leaf as another in any form. */
const isLeafOf = (event: RecordedEvent, hash: Hash): boolean =>
  leafOf(event, 2).equals(hash) || leafOf(event, 1).equals(hash);

/** The difference in words. */
export function differenceWords({ leaf, event }: Difference): string {
  if (event === undefined) return `the first leaf that differs is ${leaf}: the log ends before it`;
  const { type, version, stream, position } = event;
  return `the first leaf that differs is ${leaf}: ${type}, version ${version} of ${stream}, at position ${position}`;
}
