import type { EventStore, RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { pagesWith, type SealedPage } from './pages.js';

/** Where an event is in the tree, and in which form. */
interface LeafPlace {
  leaf: number;
  form: SealedPage['form'];
}

type Sought = Pick<RecordedEvent, 'id' | 'position'>;

/**
 * Finds the leaves of events that are asked for in the order of the log: the page of an event is found by its position,
 * its place in the page by counting, or where positions have gaps by reading that part of the log again.
 */
export class LeafPlaces {
  /** The events of the page that was read last. */
  private read: { firstLeaf: number; ids: string[] } | undefined;

  constructor(
    private readonly db: Queryable,
    private readonly store: Pick<EventStore, 'readAll'>,
  ) {}

  /** Undefined where the event is not sealed. */
  async of(event: Sought): Promise<LeafPlace | undefined> {
    return (await this.ofAll([event]))[0];
  }

  /** The same of many, in their order. */
  async ofAll(events: Sought[]): Promise<(LeafPlace | undefined)[]> {
    const pages =
      events.length === 0
        ? []
        : await pagesWith(
            this.db,
            events.map(({ position }) => position),
          );
    const places: (LeafPlace | undefined)[] = [];
    for (const [n, event] of events.entries()) {
      const page = pages[n];
      places.push(page === undefined ? undefined : await this.in(page, event));
    }
    return places;
  }

  /** The place of an event in its page. */
  async in(page: SealedPage, { id, position }: Sought): Promise<LeafPlace | undefined> {
    const { firstLeaf, afterPosition, lastPosition, leaves, form } = page;
    if (lastPosition - afterPosition === BigInt(leaves))
      return { leaf: firstLeaf + Number(position - afterPosition) - 1, form };
    if (this.read?.firstLeaf !== firstLeaf) {
      const { events } = await this.store.readAll(afterPosition, { limit: leaves });
      this.read = { firstLeaf, ids: events.map((event) => event.id) };
    }
    const place = this.read.ids.indexOf(id);
    return place < 0 ? undefined : { leaf: firstLeaf + place, form };
  }
}
