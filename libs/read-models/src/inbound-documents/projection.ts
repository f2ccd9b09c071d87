import { documentIdOfStream, INBOUND_STREAM_PREFIX } from '#domain';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldInbound } from './fold.js';
import { INBOUND_DOCUMENT } from './row.js';

/** Keeps the list of documents of others. A page costs two statements, whatever its size. */
export function inboundDocumentsProjection(): Projection {
  return {
    name: 'inbound-documents',
    filter: { streamPrefixes: [INBOUND_STREAM_PREFIX] },
    project: async (events, tx) => {
      await foldPage(tx, events, { table: INBOUND_DOCUMENT, keyOf: documentIdOfStream, fold: foldInbound });
    },
    tables: [INBOUND_DOCUMENT.name],
  };
}
