import { suspensionStream } from '#domain';
import type { TypeKnowledge } from '#documents';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { wholeStream } from '../document-timeline/whole-stream.js';
import type { Suspensions } from '../port.js';
import { affectedPacks } from './affected.js';
import { answerSuspension } from './answer.js';
import { listSuspendedLists, listSuspensions, suspensionDetailOf } from './query.js';

const DAY_MS = 86_400_000;

export function suspensionQuestions(options: {
  pool: Pool;
  store: EventStore;
  evidence: EvidenceStore;
  types: TypeKnowledge;
}): Suspensions {
  const { pool, store, types } = options;
  return {
    list: (query) => listSuspensions(pool, query),
    lists: (query) => listSuspendedLists(pool, query),
    answer: (question) => answerSuspension(options, question, new Date()),
    one: async (suspensionId, recentDays) => {
      const recentFrom = new Date(Date.now() - recentDays * DAY_MS);
      return suspensionDetailOf(await wholeStream(store, suspensionStream(suspensionId)), ({ state }) =>
        Promise.all(state.matches.map((one) => affectedPacks(pool, one, { types, recentFrom }))),
      );
    },
  };
}
