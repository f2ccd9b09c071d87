import { evolveGroup, NO_GROUP, type GroupEvent, type RegisteredGroup } from '#domain';
import { type RecordedEvent, typedEvents } from '#event-store';
import { foldGroup } from '../groups/fold.js';
import type { GroupRow } from '../groups/row.js';
import type { Conclusion } from '../sgtin-history/movements.js';
import type { OutcomeItems } from './cloud-event.js';

/** What the log and the evidence say of the parts of one document that was split. */
export interface ReadParts {
  conclusions: Conclusion[];
  items: OutcomeItems;
  /** The registry holds more than one document for one of them. */
  duplicate: boolean;
}

/** A group as it stood with an event, and what its parts say, where it is a document that was split. */
export interface KnownGroup {
  event: RecordedEvent;
  state: RegisteredGroup;
  row: GroupRow;
  read?: ReadParts | undefined;
}

/** The group with its newest event. */
export function groupOf(history: RecordedEvent[]): Omit<KnownGroup, 'read'> {
  const state = typedEvents<GroupEvent>(history).reduce(evolveGroup, NO_GROUP);
  const row = history.reduce<GroupRow | undefined>(foldGroup, undefined);
  const event = history.at(-1);
  if (state.phase === 'absent' || row === undefined || event === undefined)
    throw new Error('a group without a registration');
  return { event, state, row };
}

export const isSplit = ({ state }: Pick<KnownGroup, 'state'>): boolean => state.registration.kind === 'split';

/** Events with which a document that was split may have come to its end. */
export const ENDS_SPLIT: string[] = ['GroupConcluded', 'MemberRevised'] satisfies GroupEvent['type'][];

/** Whether a document of the ERP that was split has come to its end with this event, or has turned out otherwise. */
export const endsSplit = (known: Omit<KnownGroup, 'read'>): boolean =>
  isSplit(known) &&
  (known.event.type === 'GroupConcluded' ||
    (known.event.type === 'MemberRevised' && known.state.phase === 'concluded'));
