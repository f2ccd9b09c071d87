import type { Queryable } from '#postgres';
import { uuid5 } from '#kernel';
import { storedCheckpoint, type CheckpointRow, type StoredCheckpoint } from './checkpoints.js';
import type { CountEpoch } from './count-table.js';
import type { SealedPage } from './pages.js';

/** What was signed, as one statement finds it. */
export interface LogState {
  /** Of the tree that is being sealed; undefined where nothing of it was signed yet. */
  newest: StoredCheckpoint | undefined;
  /** The notes of all breaks, in order. */
  breaks: string[];
  /** Counts that are events of the log, the newest first. */
  counts: PublishedCount[];
  /** Whether a witness has seen a checkpoint of this tree. */
  isWitnessed: boolean;
}

/** Signed counts, and the event that has their note. */
export interface PublishedCount {
  epoch: CountEpoch;
  event: { id: string; position: bigint };
  /** Where that event is sealed. */
  page: SealedPage;
}

const MOST_BREAKS = 10_000;
const READ = `SELECT told.notes AS breaks, installation.id AS installation, newest.*, counted.*,
    EXISTS (SELECT FROM audit_cosignature WHERE audit_cosignature.breaks = told.number) AS is_witnessed
  FROM (
    SELECT coalesce(array_agg(note ORDER BY number), '{}') AS notes, count(*)::integer AS number
    FROM (SELECT number, note FROM audit_break ORDER BY number LIMIT ${MOST_BREAKS}) AS first
  ) AS told
  CROSS JOIN installation
  LEFT JOIN LATERAL (
    SELECT size, root, note, signed_at FROM audit_checkpoint WHERE breaks = told.number ORDER BY size DESC LIMIT 1
  ) AS newest ON true
  LEFT JOIN LATERAL (
    SELECT epoch, audit_count.leaves AS counted_leaves, streams, audit_count.note AS count_note, nodes,
      statement_position, page.*
    FROM audit_count
    CROSS JOIN LATERAL (
      SELECT first_leaf, after_position, last_position, leaves, form FROM audit_page
      WHERE last_position >= statement_position ORDER BY last_position LIMIT 1
    ) AS page
    WHERE audit_count.note IS NOT NULL ORDER BY epoch DESC LIMIT 2
  ) AS counted ON true
  ORDER BY epoch DESC`;

interface StateRow {
  breaks: string[];
  installation: string;
  is_witnessed: boolean;
  size: bigint | null;
  root: Buffer;
  note: string;
  signed_at: Date;
  epoch: bigint | null;
  counted_leaves: bigint;
  streams: bigint;
  count_note: string;
  nodes: Buffer | null;
  statement_position: bigint;
  first_leaf: bigint;
  after_position: bigint;
  last_position: bigint;
  leaves: number;
  form: SealedPage['form'];
}

export async function logState(db: Queryable): Promise<LogState> {
  const { rows } = await db.query<StateRow>({ name: 'audit-log-state', text: READ });
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no installation row');
  const { breaks, is_witnessed: isWitnessed } = row;
  const newest = row.size === null ? undefined : storedCheckpoint(row as CheckpointRow);
  return { newest, breaks, isWitnessed, counts: rows.filter(({ epoch }) => epoch !== null).map(published) };
}

const published = (row: StateRow): PublishedCount => ({
  epoch: {
    epoch: Number(row.epoch),
    leaves: Number(row.counted_leaves),
    streams: Number(row.streams),
    note: row.count_note,
    statementPosition: row.statement_position,
    nodes: row.nodes ?? undefined,
  },
  event: { id: uuid5(row.count_note, row.installation), position: row.statement_position },
  page: {
    firstLeaf: Number(row.first_leaf),
    afterPosition: row.after_position,
    lastPosition: row.last_position,
    leaves: row.leaves,
    form: row.form,
  },
});
