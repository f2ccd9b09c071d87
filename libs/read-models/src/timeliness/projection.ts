import { DOCUMENT_STREAM_PREFIX, INBOUND_STREAM_PREFIX } from '#domain';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldTiming, TIMING_EVENTS } from './fold.js';
import { DOCUMENT_TIMING } from './row.js';

/** Keeps the moments of every document. A page costs two statements, whatever its size. */
export function timelinessProjection(): Projection {
  return {
    name: 'timeliness',
    filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX, INBOUND_STREAM_PREFIX], types: [...TIMING_EVENTS] },
    project: async (events, tx) => {
      await foldPage(tx, events, { table: DOCUMENT_TIMING, keyOf: (stream) => stream, fold: foldTiming });
    },
    tables: [DOCUMENT_TIMING.name],
  };
}
