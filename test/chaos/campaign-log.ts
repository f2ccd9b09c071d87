import type { EventStore, RecordedEvent } from '#event-store';
import { eventsOf } from '../support/event-log/events-of.js';

/** What the checks look at; who did it does not matter to them, and a long campaign has many events. */
export type LoggedEvent = Omit<RecordedEvent, 'metadata'>;

/**
 * The log as a campaign looks at it while it grows: through the port, and each event is read once, however often it is
 * looked at.
 */
export class CampaignLog {
  private readonly copy: LoggedEvent[] = [];
  private readUpTo = 0n;
  private reading: Promise<void> = Promise.resolve();

  constructor(readonly store: EventStore) {}

  /** Every event up to now, in the order of the log. Throws when the log is away; the next look goes on from there. */
  async events(): Promise<readonly LoggedEvent[]> {
    // One after the other: two looks at once would each add what is new.
    const mine = this.reading.then(() => this.readOn());
    this.reading = mine.catch(() => undefined);
    await mine;
    return this.copy;
  }

  /** The events of each stream whose name begins with one of these, by its name. */
  async streams(...prefixes: string[]): Promise<Map<string, LoggedEvent[]>> {
    const found = new Map<string, LoggedEvent[]>();
    for (const event of await this.events()) {
      if (!prefixes.some((prefix) => event.stream.startsWith(prefix))) continue;
      const life = found.get(event.stream);
      if (life === undefined) found.set(event.stream, [event]);
      else life.push(event);
    }
    return found;
  }

  private async readOn(): Promise<void> {
    for await (const { metadata: _, ...event } of eventsOf(this.store, { after: this.readUpTo })) {
      this.copy.push(event);
      this.readUpTo = event.position;
    }
  }
}
