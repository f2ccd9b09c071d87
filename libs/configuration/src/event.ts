import type { EventStore, RecordedEvent } from '#event-store';
import type { Sha256 } from '#kernel';
import type { Fields, FieldChange } from './fields.js';

export const CONFIGURATION_STREAM = 'configuration';
export const CONFIGURATION_CHANGED = 'ConfigurationChanged';

/** What a program's settings are made of; each part is compared by itself. */
export type ConfigurationPart = 'configuration' | 'profile' | 'accounts' | 'schemas' | 'software';

/**
 * A part of a program's settings is another than the one recorded last; without `fromDigest` it is the first that was
 * recorded.
 */
export type ConfigurationChanged = {
  program: string;
  part: ConfigurationPart;
  /** SHA-256 over the canonical JSON of the state before and now. */
  fromDigest?: Sha256;
  toDigest: Sha256;
  /**
   * The first of the fields that differ, in their order; all of them where `changesLeftOut` is absent. Of a first
   * recording none are listed: all are in `state`.
   */
  changes: FieldChange[];
  changesLeftOut?: number;
  /** The whole part as it is now: the next start compares with it. */
  state: Fields;
  /** What is of this one process, such as its port: told, and not compared. */
  local?: Fields;
};

export type RecordedChanged = RecordedEvent<typeof CONFIGURATION_CHANGED, ConfigurationChanged>;

export const isChange = (event: RecordedEvent): event is RecordedChanged => event.type === CONFIGURATION_CHANGED;

/** Events that one read of the stream takes. */
const PAGE_SIZE = 200;

/**
 * The stream from its beginning, page after page, so that however long it is little of it is held. Types that a newer
 * version has added are passed on too.
 */
export async function* configurationEvents(store: Pick<EventStore, 'readStream'>): AsyncGenerator<RecordedEvent> {
  for (let fromVersion = 0; ; fromVersion += PAGE_SIZE) {
    const page = await store.readStream(CONFIGURATION_STREAM, { fromVersion, limit: PAGE_SIZE });
    yield* page;
    if (page.length < PAGE_SIZE) return;
  }
}
