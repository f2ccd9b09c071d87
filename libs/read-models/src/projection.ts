import type { EventFilter, RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';

/** What the checkpointed runner drives; the shape of `Projection` in #subscriptions. */
export interface ReadModelProjection {
  name: string;
  filter: EventFilter;
  /** Writes a page of events, in order, inside the runner's transaction, which also moves the checkpoint. */
  project(events: RecordedEvent[], tx: Transaction): Promise<void>;
  /** Empties the read model for a rebuild. */
  truncate(tx: Transaction): Promise<void>;
}
