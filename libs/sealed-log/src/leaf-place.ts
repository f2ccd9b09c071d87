import type { EventStore, RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { pageWith, type SealedPage } from './pages.js';

/** Where an event is in the tree, and in which form. */
export interface LeafPlace {
  leaf: number;
  form: SealedPage['form'];
}

/**
 * Finds the leaves of events that are asked for in the order of the log: the page of an event is found by its position,
 * its place in the page by counting, or where positions have gaps by reading that part of the log again.
 */
export class LeafPlaces {
  private page: SealedPage | undefined;
  private ids: string[] | undefined;

  constructor(
    private readonly db: Queryable,
    private readonly store: Pick<EventStore, 'readAll'>,
  ) {}

  /** Undefined where the event is not sealed. */
  async of({ id, position }: Pick<RecordedEvent, 'id' | 'position'>): Promise<LeafPlace | undefined> {
    const page = await this.pageOf(position);
    if (page === undefined) return undefined;
    const { firstLeaf, afterPosition, lastPosition, leaves, form } = page;
    if (lastPosition - afterPosition === BigInt(leaves))
      return { leaf: firstLeaf + Number(position - afterPosition) - 1, form };
    this.ids ??= (await this.store.readAll(afterPosition, { limit: leaves })).events.map((event) => event.id);
    const place = this.ids.indexOf(id);
    return place < 0 ? undefined : { leaf: firstLeaf + place, form };
  }

  private async pageOf(position: bigint): Promise<SealedPage | undefined> {
    const { page } = this;
    if (page !== undefined && position > page.afterPosition && position <= page.lastPosition) return page;
    this.ids = undefined;
    this.page = await pageWith(this.db, position);
    return this.page;
  }
}
