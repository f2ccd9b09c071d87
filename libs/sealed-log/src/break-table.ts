import type { Queryable } from '#postgres';
import type { LogBreak } from '#proofs';

/** The notes of all breaks, in order. */
export async function breakNotes(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ note: string }>('SELECT note FROM audit_break ORDER BY number LIMIT 10000');
  return rows.map(({ note }) => note);
}

/** How often the log was broken off: checkpoints and the tree are of the time since. */
export async function breakCount(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>('SELECT count(*)::integer AS count FROM audit_break');
  return rows[0]?.count ?? 0;
}

/** Makes these the breaks of the log. Rows that say otherwise were signed by nobody, and are replaced. */
export async function keepBreaks(db: Queryable, notes: string[], breaks: LogBreak[]): Promise<void> {
  await db.query('DELETE FROM audit_break WHERE number > $1 OR note <> ALL ($2)', [notes.length, notes]);
  for (const { number, toldAt, toldBy, reason, before, differsAtLeaf, nextOrigin } of breaks)
    await db.query(
      'INSERT INTO audit_break (number, note, told_at, told_by, reason, before_size, differs_at_leaf, next_origin) ' +
        'VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING',
      [number, notes[number - 1], toldAt, toldBy, reason, before.size, differsAtLeaf ?? null, nextOrigin],
    );
}
