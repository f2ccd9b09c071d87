import { evolveSuspension, isInForce, NO_SUSPENSION, seriesInOrder, type SuspensionEvent } from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import type { SuspensionRow } from './row.js';

/** The row after one more event of its suspension. Pure; an event that the row already holds changes nothing. */
export function foldSuspension(row: SuspensionRow | undefined, recorded: RecordedEvent): SuspensionRow {
  const { position, recordedAt } = recorded;
  if (row !== undefined && position <= row.position) return row;
  const before = row === undefined ? NO_SUSPENSION : { ...row.state, letters: [] };
  const after = evolveSuspension(before, typedEvent<SuspensionEvent>(recorded));
  if (after.phase === 'absent') throw new Error(`${recorded.type} of ${recorded.stream} begins no suspension`);
  // Which letters there were before decides what may be said next, and shows nothing.
  const { letters: _, ...state } = after;
  const { suspensionId, source, phase, newest } = state;
  return {
    ...{ suspensionId, openedPosition: row?.openedPosition ?? position, position, source, phase },
    ...{ action: newest.action, inForce: isInForce(state), changedAt: recordedAt, state },
    matched: seriesInOrder([...(row?.matched ?? []), ...state.matches]),
  };
}
