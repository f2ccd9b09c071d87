import { suspensionStream } from '#domain';
import type { TypeKnowledge } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { wholeStream } from '../document-timeline/whole-stream.js';
import { pinnedSuspension } from '../pack-reports/snapshot.js';
import type { Suspensions } from '../port.js';
import { affectedPacks, type AffectedRecord } from './affected.js';
import { answerSuspension } from './answer.js';
import { listSuspendedLists, listSuspensions, suspensionDetailOf } from './query.js';
import { replyOf } from './reply.js';
import type { SuspensionRow } from './row.js';

const DAY_MS = 86_400_000;
/** What moved within so many days is recent, where nobody asks for others. */
export const RECENT_DAYS = 90;

export function suspensionQuestions(options: {
  pool: Pool;
  store: EventStore;
  evidence: EvidenceStore;
  types: TypeKnowledge;
}): Suspensions {
  const { pool, store, types } = options;
  const affectedSince =
    (recentDays: number) =>
    async ({ state }: SuspensionRow): Promise<AffectedRecord> => {
      if (state.matches.length === 0) return { affected: [], seriesUnknown: [] };
      const recentFrom = new Date(Date.now() - recentDays * DAY_MS);
      return pinnedSuspension(pool, new Date(), (db) => affectedPacks(db, state.matches, { types, recentFrom }));
    };
  return {
    list: (query) => listSuspensions(pool, query),
    lists: (query) => listSuspendedLists(pool, query),
    answer: (question) => answerSuspension(options, question, new Date()),
    one: async (suspensionId, recentDays) =>
      suspensionDetailOf(await wholeStream(store, suspensionStream(suspensionId)), affectedSince(recentDays)),
    uncounted: async (suspensionId) =>
      suspensionDetailOf(await wholeStream(store, suspensionStream(suspensionId)), () => Promise.resolve({})),
    reply: async (suspensionId) =>
      replyOf(await wholeStream(store, suspensionStream(suspensionId)), {
        ...{ asOf: new Date(), affectedBy: affectedSince(RECENT_DAYS) },
      }),
  };
}
