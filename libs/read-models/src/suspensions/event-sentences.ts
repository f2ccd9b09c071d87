import type { ByRegistry, Letter, PlaceReply, SuspensionAction, SuspensionEvent } from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import { neverReached } from '#kernel';

const DONE: Record<SuspensionAction, string> = {
  suspend: 'Suspended',
  terminate: 'Circulation ended',
  recall: 'Recalled',
  release: 'Released',
};

function by(version: ByRegistry | Letter): string {
  if ('letterSha256' in version) return `by letter ${version.number} of ${version.date} (${version.from})`;
  const { decision, fetchedAt } = version;
  if (decision === undefined) return `by the list as of ${fetchedAt}`;
  const { decisionId, number = decisionId, date } = decision;
  return `by decision ${number}${date === undefined ? '' : ` of ${date}`}`;
}

/** What an event of a suspension says, in one sentence. */
export function sentenceOfSuspensionEvent(recorded: RecordedEvent): string {
  const event = typedEvent<SuspensionEvent>(recorded);
  switch (event.type) {
    case 'SuspensionListed':
      return `${DONE.suspend} ${by(event.data)}: series ${event.data.series} of ${event.data.gtin}.`;
    case 'SuspensionEntered':
      return `${DONE[event.data.action]} ${by(event.data)}: ${event.data.product}, series ${event.data.series}.`;
    case 'SuspensionMatched':
      return event.data.matches.length === 0
        ? 'It means no product of ours.'
        : `It means ${event.data.matches.map(({ gtin, series }) => `${series} of ${gtin}`).join(', ')}.`;
    case 'SuspensionChanged':
      return `${DONE[event.data.action]} ${by(event.data)}.`;
    case 'SuspensionReplied':
      return `Replied to version ${event.data.version}: ${replyWords(event.data.places)}.`;
    case 'SuspensionClosed':
      return 'Closed.';
    default:
      return neverReached(event, 'suspension event');
  }
}

const sum = (places: PlaceReply[], of: Exclude<keyof PlaceReply, 'place'>): number =>
  places.reduce((all, one) => all + one[of], 0);

/** What a reply says, over all places. */
const replyWords = (places: PlaceReply[]): string =>
  `${sum(places, 'found')} found, ${sum(places, 'quarantined')} quarantined, ${sum(places, 'shipped')} shipped, ` +
  `${sum(places, 'returned')} returned, at ${places.length} places`;
