import { defined } from '#kernel';
import { noteText } from '#merkle';
import type { Queryable } from '#postgres';
import { openBreaks, type LogBreak } from '#proofs';
import { breakNotes } from '#sealed-log';

/** What the auditor has signed: it has the say over these tables, and here they are read. */
export interface SignedHistory {
  /** The newest since the last break of the log. */
  checkpoint?: { origin: string; size: number; signedAt: string };
  /** The newest checkpoint of the present log that each witness has cosigned, as the auditor keeps it. */
  witnesses: { name: string; size: number; cosignedAt: string }[];
  /** Where a person said that the log does not go on from what was signed, oldest first. */
  breaks: {
    number: number;
    toldAt: string;
    toldBy: string;
    reason: string;
    beforeSize: number;
    differsAtLeaf?: number;
    nextOrigin: string;
  }[];
}

const MOST_BREAKS = 1_000;
/** A witness that is behind all of these is not shown. */
const COSIGNATURES_LOOKED_AT = 1_000;

/** Undefined before the first auditor has started. */
export async function signedHistory(db: Queryable): Promise<SignedHistory | undefined> {
  const { rows: there } = await db.query<{ there: boolean }>(`SELECT to_regclass('audit_break') IS NOT NULL AS there`);
  if (there[0]?.there !== true) return undefined;
  const checkpoint = await newestCheckpoint(db);
  const [witnesses, breaks] = [await witnessesOf(db), await breaksOf(db)];
  return { ...(checkpoint === undefined ? {} : { checkpoint }), witnesses, breaks };
}

async function witnessesOf(db: Queryable): Promise<SignedHistory['witnesses']> {
  const { rows: there } = await db.query<{ there: boolean }>(
    `SELECT to_regclass('audit_cosignature') IS NOT NULL AS there`,
  );
  if (there[0]?.there !== true) return [];
  const { rows } = await db.query<{ name: string; size: bigint; at: Date }>(
    `SELECT DISTINCT ON (witness) witness AS name, size, cosigned_at AS at FROM (
       SELECT * FROM audit_cosignature WHERE breaks = (SELECT count(*) FROM audit_break)
       ORDER BY size DESC LIMIT ${COSIGNATURES_LOOKED_AT}) AS newest ORDER BY witness, size DESC`,
  );
  return rows.map(({ name, size, at }) => ({ name, size: Number(size), cosignedAt: at.toISOString() }));
}

async function newestCheckpoint(db: Queryable): Promise<SignedHistory['checkpoint']> {
  const { rows } = await db.query<{ origin: string; size: bigint; signed_at: Date }>(
    `SELECT split_part(note, E'\\n', 1) AS origin, size, signed_at FROM audit_checkpoint
     WHERE breaks = (SELECT count(*) FROM audit_break) ORDER BY size DESC LIMIT 1`,
  );
  return rows.map(({ origin, size, signed_at: at }) => ({ origin, size: Number(size), signedAt: at.toISOString() }))[0];
}

/** By the notes, which the auditor holds against its folder: nothing signed tells what else stands in the table. */
async function breaksOf(db: Queryable): Promise<SignedHistory['breaks']> {
  const notes = await breakNotes(db);
  return readable(notes.slice(0, MOST_BREAKS)).map(({ before, logHead: _, toldAt, differsAtLeaf, ...one }) => ({
    ...one,
    toldAt: toldAt.toISOString(),
    beforeSize: before.size,
    ...defined({ differsAtLeaf }),
  }));
}

/** Up to one that is no note of a break: of that the auditor tells. */
function readable(notes: string[]): LogBreak[] {
  try {
    return openBreaks(notes, noteText);
  } catch {
    return readable(notes.slice(0, -1));
  }
}
