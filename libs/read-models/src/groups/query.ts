import { evolveGroup, NO_GROUP, type GroupEvent, type GroupState } from '#domain';
import type { RecordedEvent } from '#event-store';
import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { readCursor, writeCursor } from '../document-outcomes/cursor.js';
import { timelineOf } from '../document-timeline/timeline.js';
import type { DocumentPhase, GroupDetail, GroupListQuery, GroupMember, GroupSummary, Page } from '../port.js';
import { sentenceOfGroupEvent } from './event-sentences.js';
import { foldGroup } from './fold.js';
import { GROUP_COLUMNS } from './projection.js';
import type { GroupRow } from './row.js';
import { holdsOf } from '../document-outcomes/holds.js';
import { wordsForGroup } from './sentences.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** One page of groups, newest registration first. Throws PedigreeError `invalid_parameter` that names the parameter. */
export async function listGroups(db: Queryable, query: GroupListQuery): Promise<Page<GroupSummary>> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new PedigreeError('invalid_parameter', `limit must be a whole number from 1 to ${MAX_LIMIT}`, {
      field: 'limit',
    });
  const { rows } = await db.query<GroupRow>({
    name: 'document-group-list',
    text: `SELECT ${GROUP_COLUMNS} FROM document_group
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
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(groupSummaryOf),
    ...(rows.length > limit && last !== undefined ? { nextCursor: writeCursor(last.registeredPosition) } : {}),
  };
}

/**
 * A group with its members and its timeline, from its own stream; where each member stands is asked of the document
 * list.
 */
export async function groupDetail(db: Queryable, events: RecordedEvent[]): Promise<GroupDetail | undefined> {
  const row = events.reduce<GroupRow | undefined>(foldGroup, undefined);
  if (row === undefined) return undefined;
  const state = (events as unknown as GroupEvent[]).reduce(evolveGroup, NO_GROUP);
  return {
    ...groupSummaryOf(row),
    members: await membersOf(db, state),
    timeline: timelineOf(events, sentenceOfGroupEvent),
  };
}

async function membersOf(db: Queryable, state: GroupState): Promise<GroupMember[]> {
  if (state.phase === 'absent') return [];
  const { rows } = await db.query<{ requestId: string; phase: DocumentPhase; supersededBy: string | null }>(
    'SELECT request_id AS "requestId", phase, superseded_by AS "supersededBy" FROM document_outcome WHERE ' +
      'request_id = ANY($1::text[])',
    [state.members.map((one) => one.requestId)],
  );
  const shown = new Map(rows.map((row) => [row.requestId, row]));
  return state.members.map(({ requestId, commandId, documentId, outcome, cause }, index) => {
    const registration = state.registration.members[index];
    const supersededBy = shown.get(requestId)?.supersededBy ?? undefined;
    return {
      ...{
        index,
        requestId,
        commandId,
        docType: registration?.docType ?? 0,
        itemCount: registration?.itemCount ?? 0,
        documentSha256: registration?.documentSha256 ?? '',
      },
      phase: outcome === undefined ? (shown.get(requestId)?.phase ?? 'ready') : 'concluded',
      ...withoutAbsent({
        reference: registration?.reference,
        documentId,
        outcome,
        cause,
        supersedes: registration?.supersedes?.requestId,
        supersededBy,
      }),
    };
  });
}

function groupSummaryOf(row: GroupRow): GroupSummary {
  const optional = {
    ...{
      reference: row.reference,
      outcome: row.outcome,
      halt: row.halt,
      documentSha256: row.documentSha256,
      resumes: row.resumes,
      resumedBy: row.resumedBy,
    },
    ...{ startedAt: row.startedAt?.toISOString(), concludedAt: row.concludedAt?.toISOString() },
  };
  return {
    groupId: row.groupId,
    commandId: row.commandId,
    account: row.account,
    kind: row.kind,
    phase: row.phase,
    waitingFor: row.waitingFor,
    holds: holdsOf(row),
    memberCount: row.memberCount,
    sentCount: row.sentCount,
    endedCount: row.endedCount,
    itemCount: row.itemCount,
    registeredAt: row.registeredAt.toISOString(),
    position: String(row.position),
    ...withoutAbsent(optional),
    ...wordsForGroup(row),
  };
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> };

const withoutAbsent = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as Present<T>;
