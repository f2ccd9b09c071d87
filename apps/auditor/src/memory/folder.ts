import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { invalidConfiguration, type PedigreeError } from '#kernel';
import { textIfThere, writeDurably } from '#service';
import { LeafFile } from './leaf-file.js';

const MEMORY_FILE = 'memory.json';

const note = z.string().min(1).max(200_000);
const memory = z.strictObject({
  format: z.literal('pedigree-auditor-memory/1'),
  /** The newest checkpoint that was signed, or that was seen signed and was checked. Absent: none yet in this tree. */
  checkpoint: note.optional(),
  /** The one before: where the newest is not published, this one is. */
  previous: note.optional(),
  /** Every break of the log, as it was signed. */
  breaks: z.array(note).max(10_000),
});

/** What the auditor remembers outside the database: notes, as they were signed. */
export type Memory = Omit<z.infer<typeof memory>, 'format'>;

const NOTHING: Memory = { breaks: [] };

/**
 * The auditor's folder: what it knows without the database that it audits. It is read anew each time, so that a folder
 * that was put back is what counts.
 */
export class AuditorFolder {
  /** The leaf hashes of what was signed: they tell which event is another one. */
  readonly leaves: LeafFile;

  /** Makes the folder where there is none. Throws PedigreeError `invalid_configuration` where it cannot be written. */
  constructor(readonly path: string) {
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw wrong(`the folder of the auditor cannot be made: ${(error as Error).message}`);
    }
    this.leaves = new LeafFile(join(path, 'leaves'));
  }

  /** Throws PedigreeError `invalid_configuration` that names the file where it cannot be read. */
  read(): Memory {
    const { file } = this;
    try {
      const text = textIfThere(file);
      if (text === undefined) return NOTHING;
      const { format: _, ...rest } = memory.parse(JSON.parse(text));
      return rest;
    } catch (error) {
      throw wrong(
        `${file} is damaged (${(error as Error).message.slice(0, 200)}); put it back from a copy. Without it the ` +
          'auditor knows nothing of what it has signed',
      );
    }
  }

  /** Writes what is to be remembered. It is on the disk when this returns; only then it may be published. */
  write(remembered: Memory): void {
    const text = JSON.stringify({ format: memory.shape.format.value, ...remembered }, null, 2);
    writeDurably(join(this.path, MEMORY_FILE), `${text}\n`, 0o600);
  }

  private get file(): string {
    return join(this.path, MEMORY_FILE);
  }
}

const wrong = (why: string): PedigreeError => invalidConfiguration('AUDIT_FOLDER', why);
