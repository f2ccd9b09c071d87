import {
  CONTAINER_STREAM_PREFIX,
  DOCUMENT_STREAM_PREFIX,
  GROUP_STREAM_PREFIX,
  INBOUND_STREAM_PREFIX,
  type ContainerEvent,
  type DocumentEvent,
  type GroupEvent,
  type InboundEvent,
} from '#domain';
import type { EventFilter } from '#event-store';
import { defined } from '#kernel';
import type { Transaction } from '#postgres';
import { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions } from '#subscriptions';
import { END_OF_HOLDS_TYPES } from './holds.js';
import { PageOfClaims } from './page-of-claims.js';
import { openAmong, readPage, type ClaimEvent, type ItemClaimsParts } from './read-page.js';

export type ItemClaimsOptions = ItemClaimsParts & Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'>;

/** Also the name of its checkpoint. */
const ITEM_CLAIMS = 'item-claims';

const TYPES: (DocumentEvent | GroupEvent | InboundEvent | ContainerEvent)['type'][] = [
  ...(['DocumentRegistered', 'DocumentWaiting', 'DocumentReleased', 'DocumentConcluded', 'ConclusionRevised'] as const),
  ...(['DocumentHeld', 'DocumentSent'] as const),
  ...END_OF_HOLDS_TYPES,
  ...(['GroupRegistered', 'GroupWaiting', 'GroupHeld', 'GroupReleased', 'GroupConcluded'] as const),
  ...(['InboundConcluded', 'ContainerContentObserved'] as const),
];
const FILTER: EventFilter = {
  streamPrefixes: [DOCUMENT_STREAM_PREFIX, GROUP_STREAM_PREFIX, INBOUND_STREAM_PREFIX, CONTAINER_STREAM_PREFIX],
  types: TYPES,
};

/** Claims items and plans first sends until `signal` aborts. Of several processes one works, the others stand by. */
export function runItemClaims(options: ItemClaimsOptions): Promise<void> {
  const { evidence, documents, queue, ...rest } = options;
  const handle = handler({ evidence, documents, queue, ...defined({ clock: options.clock }) });
  return runSubscription({ ...rest, name: ITEM_CLAIMS, filter: FILTER, handle });
}

/** Works up to the end of the log and returns the position. `isFirst`: as a process begins, and not as it goes on. */
export function catchUpItemClaims(
  options: ItemClaimsParts & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'> & { isFirst?: boolean },
): Promise<bigint> {
  const { evidence, documents, queue, isFirst, ...rest } = options;
  const handle = handler({ evidence, documents, queue, ...defined({ clock: options.clock }) }, isFirst);
  return catchUp({ ...rest, name: ITEM_CLAIMS, filter: FILTER, handle });
}

function handler(parts: ItemClaimsParts, isFirst = true) {
  let began: bigint | undefined;
  // Until nothing is found: a page that has found some may come again.
  let mayWaitForHeld = isFirst;
  return async (recorded: object[], tx: Transaction, handledAt: Date): Promise<number> => {
    began ??= await startOf(tx);
    const start = began;
    const given = recorded as ClaimEvent[];
    const old = given.flatMap((event) =>
      event.type === 'DocumentRegistered' && event.position <= start ? [event.data.requestId] : [],
    );
    const open = old.length === 0 ? new Set<string>() : await openAmong(tx, old);
    const claims = (requestId: string, position: bigint): boolean => position > start || open.has(requestId);
    const { events, named } = await readPage(given, parts, claims);
    const page = new PageOfClaims({ ...parts, tx, handledAt, named, start, claims });
    if (mayWaitForHeld) mayWaitForHeld = await page.liftForHeld();
    return page.work(events);
  };
}

/** Up to where the version before planned the first sends; it never changes. */
async function startOf(tx: Transaction): Promise<bigint> {
  const { rows } = await tx.query<{ position: bigint }>('SELECT position FROM item_claim_start');
  return rows[0]?.position ?? 0n;
}
