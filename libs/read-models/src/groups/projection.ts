import { GROUP_STREAM_PREFIX, groupIdOfStream } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { foldGroup } from './fold.js';
import type { GroupRow } from './row.js';

/** Keeps the list of groups. A page costs two statements, whatever its size. */
export function groupsProjection(): Projection {
  return {
    name: 'groups',
    filter: { streamPrefixes: [GROUP_STREAM_PREFIX] },
    project: projectPage,
    truncate: async (tx) => {
      await tx.query('TRUNCATE document_group');
    },
  };
}

async function projectPage(events: RecordedEvent[], tx: Transaction): Promise<void> {
  if (events.length === 0) return;
  const rows = await load(tx, [...new Set(events.map((event) => groupIdOfStream(event.stream)))]);
  const touched = new Set<string>();
  for (const event of events) {
    const groupId = groupIdOfStream(event.stream);
    const next = foldGroup(rows.get(groupId), event);
    if (next === rows.get(groupId)) continue;
    rows.set(groupId, next);
    touched.add(groupId);
  }
  if (touched.size > 0)
    await write(
      tx,
      [...touched].map((groupId) => rows.get(groupId) as GroupRow),
    );
}

/** Every column with its SQL type; `fixed` ones are written at registration and never again. */
const COLUMNS: { name: string; property: keyof GroupRow; type: string; fixed?: true }[] = [
  { name: 'group_id', property: 'groupId', type: 'text', fixed: true },
  { name: 'registered_position', property: 'registeredPosition', type: 'bigint', fixed: true },
  { name: 'position', property: 'position', type: 'bigint' },
  { name: 'command_id', property: 'commandId', type: 'text', fixed: true },
  { name: 'reference', property: 'reference', type: 'text', fixed: true },
  { name: 'account', property: 'account', type: 'text', fixed: true },
  { name: 'kind', property: 'kind', type: 'text', fixed: true },
  { name: 'phase', property: 'phase', type: 'text' },
  { name: 'waiting_for', property: 'waitingFor', type: 'jsonb' },
  { name: 'held_for', property: 'heldFor', type: 'jsonb' },
  { name: 'member_count', property: 'memberCount', type: 'integer', fixed: true },
  { name: 'sent_count', property: 'sentCount', type: 'integer' },
  { name: 'ended_count', property: 'endedCount', type: 'integer' },
  { name: 'outcome', property: 'outcome', type: 'text' },
  { name: 'halt', property: 'halt', type: 'text' },
  { name: 'stopped_by', property: 'stoppedBy', type: 'text' },
  { name: 'problem', property: 'problem', type: 'text' },
  { name: 'document_sha256', property: 'documentSha256', type: 'text', fixed: true },
  { name: 'item_count', property: 'itemCount', type: 'integer', fixed: true },
  { name: 'resumes', property: 'resumes', type: 'text', fixed: true },
  { name: 'resumed_by', property: 'resumedBy', type: 'text' },
  { name: 'registered_at', property: 'registeredAt', type: 'timestamptz', fixed: true },
  { name: 'started_at', property: 'startedAt', type: 'timestamptz' },
  { name: 'concluded_at', property: 'concludedAt', type: 'timestamptz' },
];

export const GROUP_COLUMNS = COLUMNS.map(({ name, property }) => `${name} AS "${property}"`).join(', ');

async function load(tx: Transaction, groupIds: string[]): Promise<Map<string, GroupRow>> {
  const text = `SELECT ${GROUP_COLUMNS} FROM document_group WHERE group_id = ANY($1::text[])`;
  const { rows } = await tx.query<GroupRow>({ name: 'document-group-load', text, values: [groupIds] });
  return new Map(rows.map((row) => [row.groupId, row]));
}

const NAMES = COLUMNS.map(({ name }) => name).join(', ');
const WRITE = {
  name: 'document-group-write',
  text: `INSERT INTO document_group (${NAMES}) SELECT ${NAMES}
    FROM unnest(${COLUMNS.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ')}) AS page (${NAMES})
    ON CONFLICT (group_id) DO UPDATE SET ${COLUMNS.filter(({ fixed }) => !fixed)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', ')}`,
};

async function write(tx: Transaction, rows: GroupRow[]): Promise<void> {
  const values = COLUMNS.map(({ property, type }) =>
    rows.map((row) => (type === 'jsonb' ? JSON.stringify(row[property]) : row[property])),
  );
  await tx.query({ ...WRITE, values });
}
