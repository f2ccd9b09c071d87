import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { RECALL, typeKnowledge } from '#documents';
import { Duck, quoted, type DuckOptions } from '#duckdb';
import type { Clock } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { CLAIMS, hasRead, HISTORY, OUTCOMES, readUpTo } from '../runs/caught-up.js';
import { withDraft } from '../snapshots/draft.js';
import { importSnapshot } from '../snapshots/import.js';
import type { SnapshotManifest } from '../snapshots/manifest.js';
import { mappingOf } from '../snapshots/mapping.js';
import { NewFile } from '../snapshots/new-file.js';

/** A document that ended badly so long before the moment is no cause of a difference any more. */
const WINDOW_DAYS = 90;
const AT_ONCE = 5_000;
const PLACE_LENGTH = 14;

export interface DocumentSideRequest {
  pool: Pool;
  /** Log position of our record: documents as known there. */
  at: bigint;
  /** That of the comparison: ISO 8601. */
  moment: string;
  /** The folder that becomes the snapshot. */
  out: string;
  duck: Omit<DuckOptions, 'temporary'>;
  clock?: Pick<Clock, 'wait'> | undefined;
}

/**
 * Makes the snapshot of documents of ours that have no good end: in flight, refused, or halted with their group. Each
 * item and container that they name has one row, of the newest such document that would have moved it. The same
 * position and the same moment give the same digest.
 */
export async function writeDocumentSide(request: DocumentSideRequest): Promise<SnapshotManifest> {
  const { moment, out, duck } = request;
  return withDraft(out, async (work) => {
    const rows = join(work, 'rows.ndjson');
    const since = new Date(Date.parse(moment) - WINDOW_DAYS * 86_400_000);
    await writeRows(request, { since, file: rows });
    const path = join(work, 'rows.parquet');
    await newestOfEach({ rows, path }, { ...duck, temporary: work });
    const columns = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, name]));
    return await importSnapshot({
      ...{ kind: 'documents', path, out, moment, duck, confirmed: true },
      mapping: mappingOf({ format: 'parquet', columns }, 'documents'),
    });
  });
}

const FIELDS = { item: 'VARCHAR', standing: 'VARCHAR', document: 'VARCHAR', position: 'VARCHAR', moment: 'VARCHAR' };

interface Row {
  item: string;
  standing: string;
  document: string;
  position: bigint;
  moment: Date;
}

/** What only asks, or reserves numbers, can be the cause of no difference, however it ends. */
const MAY_MOVE = (type: string): string => `${type} NOT IN (${typeKnowledge.movingNothing.join(', ')})`;
/** Concluded by the position, as it counted there. */
const ENDED = (at: bigint): string => `d.known_from <= ${at} AND (d.known_to IS NULL OR d.known_to > ${at})`;
const NO_END = (at: bigint, id: string): string =>
  `NOT EXISTS (SELECT 1 FROM movement_document e WHERE e.request_id = ${id} AND e.known_from <= ${at})`;

/**
 * What has no conclusion at the position holds its items in the claims. A whole place is no item, and a recall names
 * none of its own. A cursor takes no parameters.
 */
const claimed = (at: bigint): string => `
  SELECT c.item, 'in_flight' AS standing, o.request_id AS document, o.registered_position AS position,
    o.registered_at AS moment
  FROM claim_holder h JOIN item_claim c ON c.holder = h.number AND c.is_exclusive AND length(c.item) > ${PLACE_LENGTH}
    JOIN document_outcome o ON o.request_id = h.id AND o.doc_type <> ${RECALL}
  WHERE o.registered_position <= ${at} AND ${MAY_MOVE('o.doc_type')} AND ${NO_END(at, 'h.id')}`;

/** Or it has concluded since. What an accepted document refused of its items is refused too. */
const concluded = (at: bigint, from: bigint): string => `
  SELECT m.item, CASE WHEN d.cause = 'not_processed' THEN 'halted' ELSE 'refused' END AS standing,
    d.request_id AS document, d.known_from AS position, coalesce(d.recorded_at, d.ordered_at) AS moment
  FROM movement_document d JOIN movement_effect e ON e.known_from = d.known_from AND e.result = 'refused'
    JOIN item_movement m ON m.known_from = d.known_from AND m.effect = e.effect
  WHERE d.known_from > ${from} AND ${ENDED(at)} AND d.document_id IS NULL
    AND d.outcome IN ('rejected', 'failed', 'partial') AND ${MAY_MOVE('d.doc_type')}
  UNION ALL SELECT m.item, 'in_flight', o.request_id, o.registered_position, o.registered_at
  FROM movement_document d JOIN document_outcome o ON o.request_id = d.request_id
    JOIN item_movement m ON m.known_from = d.known_from
  WHERE d.known_from > ${at} AND d.document_id IS NULL AND o.registered_position <= ${at}
    AND ${MAY_MOVE('d.doc_type')} AND ${NO_END(at, 'd.request_id')}`;

/**
 * Claims follow the log by themselves, and let go of what ends. So they are read first, once they have come to the
 * position; and the history, when it has come to where they were: what they had let go of by then is in it.
 */
async function writeRows(
  { pool, at, clock }: DocumentSideRequest,
  { since, file }: { since: Date; file: string },
): Promise<void> {
  for (const one of [CLAIMS, OUTCOMES]) await hasRead(pool, one, at, { clock });
  const out = new NewFile(createWriteStream(file));
  try {
    await writeBoth({ pool, clock }, { at, since, out });
  } finally {
    out.close();
  }
}

async function writeBoth(
  { pool, clock }: Pick<DocumentSideRequest, 'pool' | 'clock'>,
  { at, since, out }: { at: bigint; since: Date; out: NewFile },
): Promise<void> {
  let behind = at;
  await inTransaction(
    pool,
    async (tx) => {
      await tx.query(`DECLARE unfinished NO SCROLL CURSOR FOR ${claimed(at)}`);
      // Behind the cursor, which sees the claims as they were when it was declared.
      behind = (await readUpTo(tx, CLAIMS)) ?? at;
      await writeAll(tx, out);
    },
    { name: 'documents in flight' },
  );
  await hasRead(pool, HISTORY, behind, { clock });
  await inTransaction(
    pool,
    async (tx) => {
      const { rows: found } = await tx.query<{ from: bigint }>(
        'SELECT coalesce(max(known_from), 0) AS "from" FROM movement_document WHERE recorded_at < $1',
        [since],
      );
      await tx.query(`DECLARE unfinished NO SCROLL CURSOR FOR ${concluded(at, found[0]?.from ?? 0n)}`);
      await writeAll(tx, out);
    },
    { name: 'documents without a good end' },
  );
  await out.end();
}

/** The rows of the cursor, some thousand at a time. */
async function writeAll(tx: Transaction, out: NewFile): Promise<void> {
  for (;;) {
    const { rows } = await tx.query<Row>(`FETCH ${AT_ONCE} FROM unfinished`);
    await out.write(rows.map(lineOf).join(''));
    if (rows.length < AT_ONCE) return;
  }
}

const lineOf = ({ position, moment, ...row }: Row): string =>
  `${JSON.stringify({ ...row, position: String(position), moment: moment.toISOString() })}\n`;

/** One row for each item: of the newest document. */
async function newestOfEach({ rows, path }: { rows: string; path: string }, options: DuckOptions): Promise<void> {
  const duck = await Duck.open(options);
  try {
    const columns = Object.entries(FIELDS).map(([name, type]) => `${name}: '${type}'`);
    await duck.run(`COPY (SELECT * FROM read_json(${quoted(rows)}, format = 'newline_delimited',
        columns = {${columns.join(', ')}})
      QUALIFY row_number() OVER (PARTITION BY item ORDER BY position::BIGINT DESC, standing) = 1)
      TO ${quoted(path)} (FORMAT parquet)`);
  } finally {
    await duck.close();
  }
}
