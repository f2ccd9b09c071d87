import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { noteText, parseCheckpoint, type Checkpoint } from '#merkle';
import { nameOnce, syncFolder, unnamedOf, writeDurablyOnce, writeSynced } from '#service';

/** What was cosigned last of a log, and the how manieth that is. */
export interface Newest {
  generation: number;
  checkpoint: Checkpoint;
}

/** The steps of a write, so that a test can let each of them fail. */
export interface DiskSteps {
  /** Writes under a name that nobody reads, and forces it to the disk. */
  write(file: string, text: string): void;
  /** Gives it its name, unless somebody has that name: one step, which only one of two can do. */
  name(unnamed: string, file: string): boolean;
  /** Forces the name to the disk. */
  settle(folder: string): void;
}

/** A request that was refused although the log has signed its checkpoint. */
interface Refused {
  body: string;
  /** Of the checkpoint. */
  text: string;
  /** The checkpoint itself shows that the log has signed two histories. */
  isSure: boolean;
}

const GENERATION_DIGITS = 12;
const REFUSED = '.refused';
/** In the name of a file whose checkpoint tells by itself. */
const SURE = '.fork-';
/** Of each kind, for each log. */
const MOST_REFUSED = 16;

/**
 * The newest checkpoint of each log, as the log signed it, in a file of its own. Nothing is kept in memory: what counts
 * is what is on the disk. Each generation is given away once, also where two processes work on one folder by mistake,
 * so that two checkpoints never both follow from the same one.
 */
export class StateFolder {
  /** Makes the folder where there is none. */
  constructor(
    readonly path: string,
    private readonly disk: DiskSteps = realDisk,
  ) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  /** Throws where the file is damaged: without it nobody knows what was cosigned. */
  newest(origin: string): Newest | undefined {
    const generation = this.generationsOf(origin).at(-1);
    if (generation === undefined) return undefined;
    const file = this.fileOf(origin, generation);
    try {
      const checkpoint = parseCheckpoint(noteText(readFileSync(file, 'utf8')));
      if (checkpoint.origin === origin) return { generation, checkpoint };
      throw new Error(`it is of the log ${checkpoint.origin}`);
    } catch (error) {
      throw new Error(`${file} is damaged: ${(error as Error).message}. Nothing of ${origin} is cosigned`);
    }
  }

  /**
   * Makes a checkpoint the newest of its log, on the disk when it returns. False where somebody else was faster: then
   * it is judged again. A crash at any moment leaves the one before or this one: 1. written under another name and
   * forced to the disk; 2. named, which fails where the generation is taken; 3. the folder forced to the disk. Only
   * then the cosignature may be made.
   */
  advance(origin: string, after: Newest | undefined, note: string): boolean {
    const generation = (after?.generation ?? 0) + 1;
    const file = this.fileOf(origin, generation);
    const unnamed = unnamedOf(file);
    try {
      this.disk.write(unnamed, note);
      if (!this.disk.name(unnamed, file)) return false;
    } finally {
      rmSync(unnamed, { force: true });
    }
    this.disk.settle(this.path);
    const generations = this.generationsOf(origin);
    // Who slept for long may take a name that was used and tidied up since: then a later one is there.
    if (generations.at(-1) !== generation) return false;
    for (const earlier of generations.slice(0, -1)) rmSync(this.fileOf(origin, earlier), { force: true });
    return true;
  }

  /** Forces to the disk what is named: before it is cosigned once more, whoever named it. */
  settle(): void {
    this.disk.settle(this.path);
  }

  /**
   * Keeps such a request: whoever signed its checkpoint cannot deny it. Each checkpoint once, and so many: a stranger
   * who brings checkpoints with wrong proofs fills neither the disk nor the place of what tells by itself.
   */
  keepRefused(origin: string, { body, text, isSure }: Refused): void {
    const like = this.refusedFiles(origin).filter((name) => name.includes(SURE) === isSure);
    if (like.length >= MOST_REFUSED) return;
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
    const file = join(this.path, `${keyOf(origin)}${isSure ? SURE : '.'}${digest}${REFUSED}`);
    if (!existsSync(file)) writeDurablyOnce(file, body);
  }

  /** Where the request is that says most, and since when there is one, if there was one. */
  refused(origin: string): { file: string; since: Date; isSure: boolean } | undefined {
    const names = this.refusedFiles(origin);
    const first = names.find((name) => name.includes(SURE)) ?? names[0];
    if (first === undefined) return undefined;
    const times = names.map((name) => statSync(join(this.path, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    const sinceMs = Math.min(...times);
    if (sinceMs === Infinity) return undefined;
    return { file: join(this.path, first), since: new Date(sinceMs), isSure: first.includes(SURE) };
  }

  /** Also the one that a version before kept, which has no digest in its name. */
  private refusedFiles(origin: string): string[] {
    return readdirSync(this.path)
      .filter((name) => name.startsWith(`${keyOf(origin)}.`) && name.endsWith(REFUSED))
      .sort();
  }

  private fileOf(origin: string, generation: number): string {
    return join(this.path, `${keyOf(origin)}.${String(generation).padStart(GENERATION_DIGITS, '0')}`);
  }

  /** In order. */
  private generationsOf(origin: string): number[] {
    const name = new RegExp(`^${keyOf(origin)}\\.(\\d{${GENERATION_DIGITS}})$`);
    return readdirSync(this.path)
      .flatMap((entry) => name.exec(entry)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }
}

const keyOf = (origin: string): string => createHash('sha256').update(origin).digest('hex').slice(0, 32);

export const realDisk: DiskSteps = {
  write: (file, text) => writeSynced(file, text, 0o600),
  name: nameOnce,
  settle: syncFolder,
};
