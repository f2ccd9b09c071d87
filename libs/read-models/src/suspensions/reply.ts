import { actorShown, typedEvent, type RecordedEvent } from '#event-store';
import type { PlaceReply, SuspensionReplied } from '#domain';
import { present } from '../list-page.js';
import type { SuspensionReply } from '../report-port.js';
import type { AffectedRecord } from './affected.js';
import { foldSuspension } from './fold.js';
import { summaryOf } from './query.js';
import type { SuspensionRow } from './row.js';

const COUNTS = ['found', 'quarantined', 'shipped', 'returned'] as const;

/**
 * The newest reply of a suspension as a document: what it answers, and what was found, by place. Our record in it is of
 * the packs that were meant then. Undefined while nobody has replied.
 */
export async function replyOf(
  events: readonly RecordedEvent[],
  { asOf, affectedBy }: { asOf: Date; affectedBy: (row: SuspensionRow) => Promise<AffectedRecord> },
): Promise<SuspensionReply | undefined> {
  const at = events.findLastIndex(({ type }) => type === 'SuspensionReplied');
  const row = events.slice(0, at + 1).reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  const newest = events.reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  const told = events[at];
  if (told === undefined || row === undefined || newest === undefined) return undefined;
  const { affected: record, seriesUnknown } = await affectedBy(row);
  const { version, places } = typedEvent<SuspensionReplied>(told).data;
  const {
    state: _state,
    inForce: _now,
    changedAt: _changed,
    position: _position,
    versions: _versions,
    ...letter
  } = summaryOf(row);
  return {
    ...letter,
    ...{ asOf: asOf.toISOString(), version, isNewest: newest.state.reply !== null },
    ...{ repliedAt: told.recordedAt.toISOString(), repliedBy: actorShown(told.metadata.actor) },
    ...present({ reason: told.metadata.reason }),
    ...{ position: String(told.position), stream: told.stream, streamVersion: told.version },
    ...{
      places,
      totals: totalsOf(places),
      nothingFound: places.every((one) => COUNTS.every((name) => one[name] === 0)),
    },
    ...{ record, seriesUnknown },
  };
}

const totalsOf = (places: readonly PlaceReply[]): SuspensionReply['totals'] =>
  Object.fromEntries(
    COUNTS.map((name) => [name, places.reduce((sum, one) => sum + one[name], 0)]),
  ) as SuspensionReply['totals'];
