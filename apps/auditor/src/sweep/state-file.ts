import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '#kernel';
import { textIfThere, writeDurably, type ServiceLog } from '#service';

/** Above what a pass leaves (`FindingBook`), with what newer versions may add. */
const MOST_FINDINGS = 20_000;
const text = z.string().max(1_000_000);
/** One of a newer version is kept as it is: this version does not look for its kind, and knows not all that it says. */
const kept = z.looseObject({
  what: text,
  where: text,
  expected: text,
  found: text,
  /** The pass that found it first, and the last one that did. */
  firstPass: z.number().int(),
  lastPass: z.number().int(),
  since: text,
  /** How often it had gone and come again. */
  times: z.number().int(),
  isOpen: z.boolean(),
});
const hash = z.strictObject({ level: z.number().int(), hash: text });
const counts = z.strictObject({
  events: z.number(),
  evidence: z.number(),
  rows: z.number(),
  bytes: z.number(),
});
const logPlace = z.strictObject({
  position: text,
  page: z.strictObject({ leaf: z.number().int(), after: text }),
  walk: z.strictObject({ size: z.number().int(), edge: z.array(hash).max(64), tiles: z.array(text).max(8) }),
  /** Absent where no leaf was met that names digests. */
  digestsFrom: z.number().int().min(0).optional(),
  wholeUpTo: z.number().int().min(0).optional(),
});
const countsPlace = z.strictObject({
  epoch: z.number().int(),
  bucket: z.number().int().min(0),
  streams: z.number().int(),
  differences: z.number().int(),
});
const pass = z.strictObject({
  begunAt: text,
  /** What was signed when it began, and all is held against: a note. */
  checkpoint: text,
  breaks: z.number().int(),
  restoration: text.nullable(),
  part: z.enum(['log', 'stream counts', 'evidence', 'read models']),
  log: logPlace.optional(),
  counted: countsPlace.optional(),
  /** Why the counts of streams were not compared, or not all of them. */
  uncounted: text.optional(),
  /** The last digest that was looked at. */
  evidence: text.optional(),
  model: text.optional(),
  /** Read models of which not everything was compared and told, with why; empty where only not everything was told. */
  notWhole: z.record(z.string(), text).optional(),
  place: z.strictObject({ table: text, after: z.array(text).max(100) }).optional(),
  counts,
  /** Of each kind, what was found beyond those that are told. */
  untold: z.record(z.string(), z.number()),
});
const state = z.strictObject({
  format: z.literal('pedigree-sweep/1'),
  /** Number of the pass that is under way, or ended last. */
  pass: z.number().int(),
  begun: pass.optional(),
  ended: z
    .strictObject({
      pass: z.number().int(),
      at: text,
      restoration: text.nullable(),
      breaks: z.number().int(),
      /** What it did not compare, with why. Absent: it compared everything. */
      skipped: z.array(text).optional(),
    })
    .optional(),
  findings: z.array(kept).max(MOST_FINDINGS),
  /** A file that could not be read, and when that was: until a pass has ended, less may be known than was found. */
  unread: z.strictObject({ at: text, reason: text }).optional(),
});
/** What is taken over of a file that this version cannot read. */
const readable = z.looseObject({ pass: z.number().int().min(0).catch(0), findings: z.array(z.unknown()).catch([]) });

export type KeptFinding = z.infer<typeof kept>;
export type SweepCounts = z.infer<typeof counts>;
export type PassState = z.infer<typeof pass>;
export type SweepState = z.infer<typeof state>;

const NOTHING_SWEPT: SweepState = { format: 'pedigree-sweep/1', pass: 0, findings: [] };

/** Where a sweep keeps how far it is and what it has found. */
export interface StateKeeper {
  read(): SweepState;
  write(state: SweepState): void;
}

/** In the auditor's folder: whoever changes the database cannot make it forget. */
export class StateFile implements StateKeeper {
  private readonly file: string;

  constructor(
    private readonly folder: string,
    private readonly log: Pick<ServiceLog, 'error'>,
    private readonly now: () => Date = () => systemClock.now(),
  ) {
    this.file = join(folder, 'sweep.json');
  }

  /**
   * One that is damaged, or of a newer version, is kept beside. What can be read of its findings counts on, so that
   * each is told once, and told when it is gone.
   */
  read(): SweepState {
    const written = textIfThere(this.file);
    if (written === undefined) return NOTHING_SWEPT;
    try {
      return state.parse(JSON.parse(written));
    } catch (error) {
      return this.beginAnew(written, error);
    }
  }

  write(next: SweepState): void {
    writeDurably(this.file, `${JSON.stringify(next)}\n`, 0o600);
  }

  /** The copy is durable before the file is replaced: after a crash between the two this happens once more. */
  private beginAnew(written: string, error: unknown): SweepState {
    const at = this.now().toISOString();
    const copy = `sweep.json.unread-${at.replaceAll(':', '-')}`;
    writeDurably(join(this.folder, copy), written, 0o600);
    const { pass, findings, lost } = takenOver(written);
    const counted = lost === 0 ? `${findings.length} findings` : `${findings.length} findings, and not ${lost} others`;
    const reason = `sweep.json is damaged, or of a newer version: it is kept as ${copy}; taken over: ${counted}`;
    this.log.error({ err: error }, `${reason}; a new pass begins`);
    const anew: SweepState = { ...NOTHING_SWEPT, pass, findings, unread: { at, reason } };
    this.write(anew);
    return anew;
  }
}

function takenOver(written: string): Pick<SweepState, 'pass' | 'findings'> & { lost: number } {
  const { pass, findings: all } = readable.catch({ pass: 0, findings: [] }).parse(parsed(written));
  const findings = all.flatMap((one) => kept.safeParse(one).data ?? []).slice(0, MOST_FINDINGS);
  return { pass, findings, lost: all.length - findings.length };
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}

/** Of one run that is not gone on with. */
export class StateInMemory implements StateKeeper {
  private state = NOTHING_SWEPT;

  read(): SweepState {
    return this.state;
  }

  write(next: SweepState): void {
    this.state = next;
  }
}
