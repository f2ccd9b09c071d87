import {
  DECISION_LIST_STREAM,
  SUSPENDED_LIST_STREAM,
  SUSPENSION_STREAM_PREFIX,
  suspensionIdOfStream,
  type RegistryList,
  type SuspendedListEvent,
  type SuspendedListHeld,
} from '#domain';
import { typedEvent, type RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldSuspension } from './fold.js';
import { SUSPENDED_LIST, SUSPENSION, type SuspendedListRow } from './row.js';

/** Keeps the suspensions, and the versions of the registry's list. A page costs some statements, whatever its size. */
export function suspensionsProjection(): Projection {
  return {
    name: 'suspensions',
    filter: { streamPrefixes: [SUSPENSION_STREAM_PREFIX, SUSPENDED_LIST_STREAM] },
    project: async (events, tx) => {
      const ofList = events.filter(({ stream }) => stream === SUSPENDED_LIST_STREAM || stream === DECISION_LIST_STREAM);
      const others = events.filter(({ stream }) => stream.startsWith(SUSPENSION_STREAM_PREFIX));
      await foldPage(tx, others, { table: SUSPENSION, keyOf: suspensionIdOfStream, fold: foldSuspension });
      await keepLists(tx, ofList);
    },
    tables: [SUSPENSION.name, SUSPENDED_LIST.name],
  };
}

async function keepLists(tx: Transaction, events: RecordedEvent[]): Promise<void> {
  const typed = events.map((recorded) => ({ recorded, event: typedEvent<SuspendedListEvent>(recorded) }));
  await SUSPENDED_LIST.write(
    tx,
    typed.flatMap(({ recorded, event }) => (event.type === 'SuspendedListHeld' ? [rowOf(recorded, event.data)] : [])),
  );
  for (const { recorded, event } of typed) {
    if (event.type !== 'SuspendedListConfirmed') continue;
    // Whoever confirms means the newest version before that.
    await tx.query(
      `UPDATE suspended_list SET confirmed_at = $2
       WHERE position = (SELECT max(position) FROM suspended_list WHERE position < $1 AND source = $3)`,
      [recorded.position, recorded.recordedAt, sourceOf(recorded)],
    );
  }
}

const sourceOf = ({ stream }: RecordedEvent): RegistryList => (stream === DECISION_LIST_STREAM ? 'decisions' : 'list');

const rowOf = (recorded: RecordedEvent, data: SuspendedListHeld['data']): SuspendedListRow => ({
  ...SUSPENDED_LIST.nulls,
  ...{ source: sourceOf(recorded), decisions: data.decisions ?? null, notUnderstood: data.notUnderstood ?? null },
  ...{
    position: recorded.position,
    heldAt: recorded.recordedAt,
    fetchedAt: new Date(data.fetchedAt),
    account: data.account,
  },
  ...{ listSha256: data.listSha256, inForceSha256: data.inForceSha256, series: data.series, packs: data.packs },
  ...{ packsWithoutSeries: data.packsWithoutSeries, appeared: data.appeared, vanished: data.vanished },
  ...{ calls: data.calls, doubt: data.doubt ?? null, unnamed: data.unnamed ?? null },
});
