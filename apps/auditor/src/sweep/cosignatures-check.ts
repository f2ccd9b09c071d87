import { cosignaturesIn, noteText, type NoteVerifier } from '#merkle';
import type { Pool } from '#postgres';
import { newestCosignatures, type CosignatureRow } from '#sealed-log';
import type { Report } from './finding.js';

export interface CosignaturesCheckParts {
  pool: Pool;
  report: Report;
  /** Those that are asked; of others only the form of what they said is known. */
  witnesses: NoteVerifier[];
}

/**
 * Holds what witnesses said of the newest checkpoints against those checkpoints: it stands in proofs and in the
 * published checkpoint as it is, and where it does not hold, readers refuse the whole file.
 */
export async function holdCosignatures({ pool, report, witnesses }: CosignaturesCheckParts): Promise<void> {
  for (const row of await newestCosignatures(pool)) {
    const found = faultOf(row, witnesses);
    if (found === undefined) continue;
    await report({
      what: 'checkpoint',
      where: `the cosignature of ${row.witness} under ${row.size} events in the table audit_cosignature`,
      expected: 'what this witness said of the checkpoint',
      found,
    });
  }
}

function faultOf({ witness, note, line }: CosignatureRow, witnesses: NoteVerifier[]): string | undefined {
  if (note === null) return 'no such checkpoint';
  try {
    // The line alone: others that are damaged are told by themselves.
    const cosigned = `${textOf(note)}\n${line}`;
    noteText(cosigned);
    if (line.indexOf('\n') !== line.length - 1 || line.split(' ')[1] !== witness) return 'a line of somebody else';
    cosignaturesIn(
      cosigned,
      witnesses.filter(({ name }) => name === witness),
    );
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Of a checkpoint that is damaged the log is told; nothing can be said of its cosignatures then. */
function textOf(note: string): string {
  try {
    return noteText(note);
  } catch {
    return 'damaged\n';
  }
}
