import { evolveGroup, NO_GROUP, type GroupEvent, type GroupState } from '#domain';
import { type RecordedEvent, typedEvents } from '#event-store';
import type { Queryable } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import { timelineOf } from '../document-timeline/timeline.js';
import type { GroupDetail, GroupListQuery, GroupMember, GroupSummary, Page } from '../port.js';
import { sentenceOfGroupEvent } from './event-sentences.js';
import { foldGroup } from './fold.js';
import { DOCUMENT_GROUP, type GroupRow } from './row.js';
import { predecessorHoldsOf } from '../document-outcomes/holds.js';
import { DOCUMENT_OUTCOME, type DocumentOutcomeRow } from '../document-outcomes/row.js';
import { wordsForGroup } from './sentences.js';
import { groupSummary } from './shape.js';
import { fieldsOf } from '../shapes.js';

/** One page of groups, newest registration first. Throws PedigreeError `invalid_parameter` that names the parameter. */
export async function listGroups(db: Queryable, query: GroupListQuery): Promise<Page<GroupSummary>> {
  const limit = pageLimit(query.limit);
  const { rows } = await db.query<GroupRow>({
    name: 'document-group-list',
    text: `SELECT ${DOCUMENT_GROUP.select()} FROM document_group
      WHERE ($1::text IS NULL OR phase = $1) AND ($2::text IS NULL OR outcome = $2) AND ($3::text IS NULL
        OR account = $3) AND ($4::text IS NULL OR kind = $4)
        AND ($5::boolean IS NULL OR (halt IS NOT NULL) = $5) AND ($6::bigint IS NULL OR registered_position < $6)
      ORDER BY registered_position DESC LIMIT $7`,
    values: [
      query.phase,
      query.outcome,
      query.account,
      query.kind,
      query.halted,
      query.cursor === undefined ? undefined : readCursor(query.cursor),
      limit + 1,
    ],
  });
  return pageOf(rows, limit, { show: groupSummaryOf, positionOf: (row) => row.registeredPosition });
}

/**
 * A group with its members and its timeline, from its own stream; where each member stands is asked of the document
 * list.
 */
export const groupDetail = (db: Queryable, events: RecordedEvent[]): Promise<GroupDetail | undefined> =>
  groupDetailOf(events, (requestIds) => DOCUMENT_OUTCOME.load(db, requestIds));

/** The rows of these documents, by request_id; those that are registered. */
export type RowsOf = (requestIds: string[]) => Promise<Map<string, DocumentOutcomeRow>>;

/** The answer about a group. */
export async function groupDetailOf(events: RecordedEvent[], rowsOf: RowsOf): Promise<GroupDetail | undefined> {
  const row = events.reduce<GroupRow | undefined>(foldGroup, undefined);
  if (row === undefined) return undefined;
  const state = typedEvents<GroupEvent>(events).reduce(evolveGroup, NO_GROUP);
  return {
    ...groupSummaryOf(row),
    members: await membersOf(rowsOf, state),
    timeline: timelineOf(events, sentenceOfGroupEvent),
  };
}

async function membersOf(rowsOf: RowsOf, state: GroupState): Promise<GroupMember[]> {
  if (state.phase === 'absent') return [];
  const requestIds = state.members.map((one) => one.requestId);
  const shown = await rowsOf(requestIds);
  return state.registration.members.map((member, index) => {
    const { requestId, commandId, docType, itemCount, documentSha256, reference } = member;
    const { documentId, outcome, cause } = { ...state.members[index] };
    const row = shown.get(requestId);
    return {
      index,
      requestId,
      commandId,
      docType,
      itemCount,
      documentSha256,
      phase: outcome === undefined ? (row?.phase ?? 'ready') : 'concluded',
      ...present({
        reference,
        documentId,
        outcome,
        cause,
        supersedes: member.supersedes?.requestId,
        supersededBy: row?.supersededBy,
      }),
    };
  });
}

const shown = fieldsOf(groupSummary);

const groupSummaryOf = (row: GroupRow): GroupSummary => ({
  ...shown(row),
  holds: predecessorHoldsOf(row),
  ...wordsForGroup(row),
});
