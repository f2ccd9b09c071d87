import { newEvent, type EventStore, type Says } from '#event-store';
import { canonicalJson, uuid5, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import { SEGMENT_SEALED, sealData, segmentStream, type SegmentSeal } from '#proofs';
import { rootNextSegment, sealNextSegment, type SegmentParts } from '#segments';
import type { ServiceLog } from '#service';

/** Whose log it is, and what writes it. */
export interface SealingParts {
  parts: SegmentParts;
  pool: Pool;
  store: EventStore;
  installation: Says & { id: string };
  log: ServiceLog;
  clock: Clock;
}

/** After an upgrade there may be many. */
const MOST_AT_ONCE = 10_000;

/** Works out the root of each segment, and appends an event for each that has none, in the order of the log. */
export async function sealSegments(sealing: SealingParts, signal: AbortSignal): Promise<void> {
  for (let n = 0; n < MOST_AT_ONCE && !signal.aborted; n += 1)
    if ((await rootNextSegment(sealing.parts)) !== 'rooted') break;
  // Where another reconciler was faster, the next look finds its event.
  for (let n = 0; n < MOST_AT_ONCE && !signal.aborted; n += 1)
    if ((await sealNextSegment(sealing.pool, (seal) => appendSeal(sealing, seal))) !== 'sealed') break;
}

/**
 * The position of the event that seals the segment; undefined where somebody wrote the stream meanwhile. A segment that
 * was written anew with other rows gets a second seal beside the first, and is reported: nothing is sealed in silence.
 */
async function appendSeal(
  { store, installation, log, clock }: SealingParts,
  seal: SegmentSeal,
): Promise<bigint | undefined> {
  const stream = segmentStream(seal.from);
  const data = sealData(seal);
  const before = await store.readStream(stream);
  const last = before.at(-1);
  if (last !== undefined && canonicalJson(last.data) === canonicalJson(data)) return last.position;
  if (last !== undefined) log.error({ stream, before: last.data, now: data }, 'a segment was sealed with other rows');
  const id = uuid5(`${stream} ${before.length} ${canonicalJson(data)}`, installation.id);
  const appended = await store.append(stream, last === undefined ? 'none' : last.version, [
    newEvent(
      { type: SEGMENT_SEALED, data },
      {
        says: installation,
        actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' },
        ...{ at: clock.now(), id, correlationId: stream, causationId: id },
      },
    ),
  ]);
  return appended.kind === 'appended' ? appended.position : undefined;
}
