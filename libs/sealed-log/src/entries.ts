import type { EventStore, RecordedEvent } from '#event-store';
import { HASH_BYTES, leafHash } from '#merkle';
import type { Queryable } from '#postgres';
import { leafBytes, type LeafForm } from '#proofs';
import { pageOfLeaf, type SealedPage } from './pages.js';
import { Contradiction } from './contradiction.js';

export interface LogSource {
  pool: Queryable;
  store: Pick<EventStore, 'readAll'>;
}

/** An event of the log, and the leaf that it is. */
export interface SealedEvent {
  event: RecordedEvent;
  form: LeafForm;
  /** The bytes of the leaf. */
  entry: Buffer;
}

/**
 * The events of the leaves `from` to `to - 1`, each held against its hash in the tree (`hashes`, one behind the other).
 * Throws Contradiction where an event is not the leaf that was sealed.
 */
export async function sealedEvents(
  source: LogSource,
  [from, to]: [number, number],
  hashes: Buffer,
): Promise<SealedEvent[]> {
  const entries: SealedEvent[] = [];
  while (from + entries.length < to) {
    const leaf = from + entries.length;
    const page = await pageOfLeaf(source.pool, leaf);
    if (page === undefined) throw new Contradiction(`no page has leaf ${leaf}: audit_page was changed`, leaf);
    entries.push(...(await eventsOfPage(source, page, [leaf, Math.min(to, page.firstLeaf + page.leaves)])));
  }
  entries.forEach(({ entry }, i) => {
    if (!leafHash(entry).equals(hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)))
      throw new Contradiction(`leaf ${from + i} is not the event that was sealed`, from + i);
  });
  return entries;
}

async function eventsOfPage(
  { store }: LogSource,
  { firstLeaf, afterPosition, lastPosition, leaves, form }: SealedPage,
  [from, to]: [number, number],
): Promise<SealedEvent[]> {
  const entries: SealedEvent[] = [];
  // Where positions have no gap, the leaf has its position.
  const isGapless = lastPosition - afterPosition === BigInt(leaves);
  let [at, after] = isGapless ? [from, afterPosition + BigInt(from - firstLeaf)] : [firstLeaf, afterPosition];
  while (at < to) {
    const { events, readUpTo } = await store.readAll(after, { limit: to - at });
    for (const event of events) {
      if (at >= from && at < to) entries.push({ event, form, entry: leafBytes(event, form) });
      at += 1;
    }
    if (readUpTo <= after && at < to) throw new Contradiction(`the log ends before the event of leaf ${at}`, at);
    after = readUpTo;
  }
  return entries;
}
