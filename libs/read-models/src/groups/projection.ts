import { GROUP_STREAM_PREFIX, groupIdOfStream } from '#domain';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldGroup } from './fold.js';
import { DOCUMENT_GROUP } from './row.js';

/** Keeps the list of groups. A page costs two statements, whatever its size. */
export function groupsProjection(): Projection {
  return {
    name: 'groups',
    filter: { streamPrefixes: [GROUP_STREAM_PREFIX] },
    project: async (events, tx) => {
      await foldPage(tx, events, { table: DOCUMENT_GROUP, keyOf: groupIdOfStream, fold: foldGroup });
    },
    tables: [DOCUMENT_GROUP.name],
  };
}
