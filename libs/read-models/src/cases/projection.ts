import { CASE_STREAM_PREFIX, caseIdOfStream } from '#domain';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldCase } from './fold.js';
import { RECONCILIATION_CASE } from './row.js';

/** Keeps the list of cases. A page costs two statements, whatever its size. */
export function casesProjection(): Projection {
  return {
    name: 'cases',
    filter: { streamPrefixes: [CASE_STREAM_PREFIX] },
    project: async (events, tx) => {
      await foldPage(tx, events, { table: RECONCILIATION_CASE, keyOf: caseIdOfStream, fold: foldCase });
    },
    tables: [RECONCILIATION_CASE.name],
  };
}
