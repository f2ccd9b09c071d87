import type { EventStore, EventText, RecordedEvent } from '#event-store';
import { canonicalText } from '#kernel';
import type { Hash } from '#merkle';
import { leafOf, leafOfText } from '#proofs';
import type { Followed } from '#subscriptions';

/** The leaf that an event becomes, and where the log has the event. */
export interface PlacedLeaf {
  position: bigint;
  leaf: Hash;
}

/** What can be sealed: leaves that are made already, or the events themselves. */
export type Sealable = PlacedLeaf | RecordedEvent;

export const leafOfSealable = (one: Sealable): Hash => ('leaf' in one ? one.leaf : leafOf(one));

/** The leaf is of the RFC 8785 form of the content, which is how the log stores it. Throws for what is not JSON. */
const placedLeaf = (event: EventText): PlacedLeaf => ({
  position: event.position,
  leaf: leafOfText(event, { data: canonicalText(event.data), metadata: canonicalText(event.metadata) }),
});

/**
 * The log as leaves, each made as soon as its event is read. So of an event that waits to be sealed only the hash is in
 * memory, and pages may be long.
 */
export const leafPages = (store: Pick<EventStore, 'subscribeTexts'>): Followed<PlacedLeaf> => ({
  subscribeAll: (after, options) => store.subscribeTexts(after, { ...options, each: placedLeaf }),
});

/** Events that become leaves in one transaction, where the log is far behind: its cost is shared by all of them. */
const PAGE_LEAVES = 4_096;
/** In a log whose positions have gaps an event is found by reading its page, so pages are shorter there. */
const PAGE_LEAVES_IN_GAPS = 1_000;

export const pageLeaves = ({ positionUnit }: Pick<EventStore, 'positionUnit'>): number =>
  positionUnit === 'event' ? PAGE_LEAVES : PAGE_LEAVES_IN_GAPS;
