import { documentReading } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { invalidParameter, PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import {
  conclusionItems,
  conclusionsOf,
  foreignCursor,
  outcomesAfter,
  outcomesRemovedUpTo,
  sequenceOf,
  type OutcomeItem,
} from '#read-models';
import { OutcomeNotifier } from './outcome-notifier.js';

export interface OutcomesOptions {
  pool: Queryable;
  store: Pick<EventStore, 'head' | 'readStream'>;
  evidence: EvidenceStore;
  notifier: OutcomeNotifier;
  /** Most requests that may wait for an outcome at once. Default 200. */
  maxWaiting?: number;
}

interface FeedQuery {
  /** Position of the last outcome that the caller has taken; absent: from the oldest that is kept. */
  after: bigint | undefined;
  limit: number;
  waitMs: number;
  signal: AbortSignal;
}

interface ItemsPage {
  items: OutcomeItem[];
  nextCursor?: string;
}

/**
 * What the ERP asks about outcomes: the feed, for those without a bus, and the items of a document that are too many
 * for an event.
 */
export class Outcomes {
  private readonly documents = documentReading();

  constructor(private readonly options: OutcomesOptions) {}

  /**
   * The outcomes after a position as JSON, each body as it is published, and the place to go on from. Waits for the
   * first one, if there is none, at most `waitMs`. Throws `outcomes_removed` when some after that position are kept no
   * longer: never a part for the whole.
   */
  async feed({ after, limit, waitMs, signal }: FeedQuery): Promise<string> {
    const { pool, store, notifier, maxWaiting = 200 } = this.options;
    if (after !== undefined && after > (await store.head())) {
      const why = 'it is of another installation, or an older backup was restored';
      throw invalidParameter('after', `${after} lies beyond the log: ${why}`);
    }
    const from = after ?? (await outcomesRemovedUpTo(pool));
    let rows = await outcomesAfter(pool, from, limit);
    if (rows.length === 0 && waitMs > 0) {
      if (notifier.waiting >= maxWaiting)
        throw new PedigreeError(
          'backlog_full',
          `${maxWaiting} requests wait for outcomes already; ask again without wait, or later`,
        );
      await notifier.waitBeyond(from, waitMs, signal);
      rows = await outcomesAfter(pool, from, limit);
    }
    // Read last: what was removed before the rows were read is known by now.
    const removedUpTo = await outcomesRemovedUpTo(pool);
    if (removedUpTo > from) {
      const message =
        `outcomes up to sequence ${sequenceOf(removedUpTo)} are kept no longer; ask without after for the oldest ` +
        'that are, and for the documents themselves for what lies before';
      throw new PedigreeError('outcomes_removed', message, { field: 'after', item: sequenceOf(from) });
    }
    const nextAfter = sequenceOf(rows.at(-1)?.position ?? from);
    return `{"items":[${rows.map((row) => row.body).join(',')}],"next_after":"${nextAfter}"}`;
  }

  /**
   * Items of a concluded document with their results, in document order; where it was split, part after part. The
   * cursor holds on to the conclusion that the first page showed.
   */
  async items(
    requestId: string,
    query: { result?: OutcomeItem['result'] | undefined; limit: number; cursor?: string | undefined },
  ): Promise<ItemsPage> {
    const { store, evidence } = this.options;
    const [position, skip] = cursorOf(query.cursor);
    const told = await conclusionsOf(store, requestId, position);
    if (told === undefined)
      throw new PedigreeError('not_found', `no document of request_id ${requestId} has concluded`, {
        field: 'requestId',
        item: requestId,
      });
    const end = skip + query.limit;
    let wanted: OutcomeItem[] = [];
    for (const conclusion of told.conclusions) {
      if (wanted.length > end) break;
      const all = await conclusionItems(conclusion, evidence, this.documents);
      wanted = wanted.concat(query.result === undefined ? all : all.filter((one) => one.result === query.result));
    }
    return {
      items: wanted.slice(skip, end),
      ...(wanted.length > end ? { nextCursor: `${told.position}-${end}` } : {}),
    };
  }
}

/** The conclusion's position and how many items were shown. */
function cursorOf(cursor: string | undefined): [bigint | undefined, number] {
  if (cursor === undefined) return [undefined, 0];
  const [, position, skip] = /^(\d{1,19})-(\d{1,9})$/.exec(cursor) ?? [];
  if (position === undefined || skip === undefined) throw foreignCursor();
  return [BigInt(position), Number(skip)];
}
