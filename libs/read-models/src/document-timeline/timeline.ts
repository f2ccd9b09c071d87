import { actorShown, type Actor, type RecordedEvent } from '#event-store';
import { isSha256, type Sha256 } from '#kernel';
import type { TimelineEntry } from '../port.js';
import { sentenceOfEvent } from './event-sentences.js';

/**
 * A document's life, ours or another's, line by line in log order, from the events of its stream. Pure. `at` is when it
 * happened in the world.
 */
export function timelineOf(
  events: RecordedEvent[],
  sentenceOf: (event: RecordedEvent) => string = sentenceOfEvent,
): TimelineEntry[] {
  return events.map((event) => ({
    position: String(event.position),
    version: event.version,
    type: event.type,
    at: event.recordedAt.toISOString(),
    actor: actorWords(actorShown(event.metadata.actor)),
    sentence: sentenceOf(event),
    data: event.data,
    evidence: digestsIn(event.data),
  }));
}

const actorWords = ({ name, kind, authenticatedBy }: Actor): string => `${name} (${kind}, ${authenticatedBy})`;

/**
 * Every digest that an event's data names, each once, in the order of the fields. Events name evidence in fields
 * `...Sha256`.
 */
export function digestsIn(data: object): Sha256[] {
  const digests = new Set<Sha256>();
  for (const [name, value] of Object.entries(data)) {
    if (/sha256$/i.test(name) && typeof value === 'string' && isSha256(value)) digests.add(value);
  }
  return [...digests];
}
