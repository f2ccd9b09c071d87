import { newestRestoration } from '#backup';
import type { EventStore } from '#event-store';
import { checkAllStored } from '#evidence';
import { systemClock, type Clock } from '#kernel';
import type { Checkpoint, NoteVerifier } from '#merkle';
import type { Pool } from '#postgres';
import { type LogKeys, openBreaks } from '#proofs';
import { breakNotes } from '#sealed-log';
import type { AuditorFolder } from '../memory/folder.js';
import { rememberedCheckpoint, toldHead } from '../memory/hold.js';
import { checkCounts } from './counts-check.js';
import type { FindingKind } from './finding.js';
import { FindingBook } from './finding-book.js';
import { LogCheck } from './log-check.js';
import { checkModels, isOfModel } from './models-check.js';
import { Pace } from './pace.js';
import type { KeptFinding, PassState, StateKeeper, SweepCounts, SweepState } from './state-file.js';
import type { SweepEvents } from './sweep-events.js';

export interface SweepParts {
  pool: Pool;
  connectionString: string;
  store: EventStore;
  folder: AuditorFolder;
  keys: LogKeys;
  /** Keys of the witnesses that are asked. */
  witnesses: NoteVerifier[];
  keeper: StateKeeper;
  events: SweepEvents;
  /** Before the names of the schemas of copies: two who sweep at a time have two. */
  prefix: string;
  /** Undefined: as fast as it goes. */
  bytesPerSecond?: number | undefined;
  signal: AbortSignal;
  onProgress?: (progress: SweepProgress) => void;
  clock?: Clock;
}

export interface SweepProgress {
  pass: number;
  part: PassState['part'];
  /** Of the pass, from 0 to 1. */
  share: number;
  counts: SweepCounts;
  findings: number;
}

/** A pass that came to its end. */
export interface SweepEnded {
  pass: number;
  counts: SweepCounts;
  findings: KeptFinding[];
  untold: Record<string, number>;
  /** What was not compared, with why. */
  skipped: string[];
}

export type PassOutcome = SweepEnded | 'nothing_signed' | 'ended_early';

const LOG_FINDINGS: FindingKind[] = ['event', 'tile', 'page'];
const EVIDENCE_BYTES = 4 * 1024 * 1024;
const SAVE_EVERY_MS = 2_000;
const PART_SHARES: Record<PassState['part'], number> = { log: 0, 'stream counts': 1, evidence: 2, 'read models': 3 };
const PARTS = Object.keys(PART_SHARES).length;

/** Breaks in the table; 0 where one is made up, of which the look at the log tells. */
async function toldBreaks(pool: Pool, keys: LogKeys): Promise<number> {
  const notes = await breakNotes(pool);
  try {
    return openBreaks(notes, (note) => keys.openBreak(note)).length;
  } catch {
    return 0;
  }
}

/** Another tree counts from here on: a person told a break, or another backup was restored. The pass means nothing. */
class Outdated extends Error {}

/**
 * One pass over everything: the log and what was sealed of it, evidence, read models. It judges by the checkpoint in
 * the auditor's folder, and goes on where it was ended.
 */
export class Sweep {
  private readonly clock: Clock;
  private readonly pace: Pace;
  private readonly book: FindingBook;
  private readonly state: SweepState;
  private savedAtMs = -Infinity;
  private inPart = 0;

  constructor(private readonly parts: SweepParts) {
    this.clock = parts.clock ?? systemClock;
    this.pace = new Pace(parts.bytesPerSecond, parts.signal, this.clock);
    this.state = structuredClone(parts.keeper.read());
    this.book = new FindingBook(this.state, parts.events, () => this.clock.now());
  }

  /** Throws what keeps it from going on: then it goes on from there the next time. */
  async runPass(): Promise<PassOutcome> {
    const begun = await this.begin();
    if (begun === undefined) return 'nothing_signed';
    try {
      return (await this.work(begun)) ? await this.end(begun) : 'ended_early';
    } catch (error) {
      if (!(error instanceof Outdated)) throw error;
      delete this.state.begun;
      return 'ended_early';
    } finally {
      this.save();
    }
  }

  /** The pass that is under way, or the next one. */
  private async begin(): Promise<PassState | undefined> {
    const { folder, pool } = this.parts;
    const { checkpoint, breaks } = folder.read();
    const restoration = (await newestRestoration(pool))?.id ?? null;
    const { begun } = this.state;
    if (begun?.breaks === breaks.length && begun.restoration === restoration) return begun;
    if (checkpoint === undefined) return undefined;
    this.state.pass += 1;
    this.state.begun = {
      begunAt: this.clock.now().toISOString(),
      checkpoint,
      breaks: breaks.length,
      restoration,
      part: 'log',
      counts: { events: 0, evidence: 0, rows: 0, bytes: 0 },
      untold: {},
    };
    this.save();
    return this.state.begun;
  }

  /** False where the signal ended it. */
  private async work(begun: PassState): Promise<boolean> {
    if (begun.part === 'log') await this.holdLog(begun);
    if (begun.part === 'stream counts') await this.holdCounts(begun);
    if (begun.part === 'evidence') await this.holdEvidence(begun);
    return !this.parts.signal.aborted && this.holdModels(begun);
  }

  private readonly report = async (finding: Parameters<FindingBook['report']>[0]): Promise<void> => {
    await this.book.report(finding);
    this.save();
  };

  /** What is sealed and counted is of another tree where a break was told since it was read. */
  private readonly reportOfTree = async (finding: Parameters<FindingBook['report']>[0]): Promise<void> => {
    await this.checkBreaks(this.state.begun as PassState);
    await this.report(finding);
  };

  private async holdLog(begun: PassState): Promise<void> {
    const { pool, store, folder, keys, witnesses, signal } = this.parts;
    const memory = { checkpoint: begun.checkpoint, breaks: folder.read().breaks };
    const told = toldHead(openBreaks(memory.breaks, (note) => keys.openBreak(note)));
    const signed = rememberedCheckpoint(keys, memory) as Checkpoint;
    const { reportOfTree: report } = this;
    const check = new LogCheck(
      { pool, store, leaves: folder.leaves, keys, signed, breaks: begun.breaks, told, witnesses, report },
      begun.log,
    );
    while (!signal.aborted) {
      const bytes = await check.next();
      await this.checkBreaks(begun);
      if (bytes === undefined) {
        await check.finish();
        this.nextPart(begun, 'stream counts');
        delete begun.log;
        return;
      }
      begun.log = check.place;
      begun.counts.events = check.leaf;
      await this.worked(begun, { bytes, share: check.leaf / Math.max(1, signed.size) });
    }
  }

  /** Where the log is not what was signed, that is told, and its events are not what was counted. */
  private async holdCounts(begun: PassState): Promise<void> {
    const { pool, store, keys, signal } = this.parts;
    const uncounted = this.isFound(LOG_FINDINGS)
      ? 'the log is not what was signed'
      : await checkCounts(
          {
            ...{ pool, store, keys, signal, report: this.reportOfTree },
            onWork: async (work) => {
              await this.checkBreaks(begun);
              if (work.place !== undefined) begun.counted = work.place;
              return this.worked(begun, work);
            },
          },
          begun.counted,
        );
    if (signal.aborted) return;
    if (uncounted !== undefined) begun.uncounted = uncounted;
    delete begun.counted;
    this.nextPart(begun, 'evidence');
  }

  /** Throws Outdated where a break was told meanwhile; the auditor takes it up into the folder a little later. */
  private async checkBreaks({ breaks }: PassState): Promise<void> {
    const { folder, pool, keys } = this.parts;
    if (folder.read().breaks.length !== breaks || (await toldBreaks(pool, keys)) > breaks) throw new Outdated();
  }

  /** Whether this pass, or one before, has found something of these kinds that is not gone. */
  private isFound(kinds: FindingKind[]): boolean {
    return this.book.open().some(({ what }) => kinds.some((kind) => kind === what));
  }

  private async holdEvidence(begun: PassState): Promise<void> {
    const { pool, signal } = this.parts;
    for await (const { pieces, bytes, upTo, damaged } of checkAllStored(pool, begun.evidence, EVIDENCE_BYTES)) {
      if (signal.aborted) return;
      for (const { sha256, what } of damaged)
        await this.report({
          what: 'evidence',
          where: `evidence ${sha256}`,
          expected: 'bytes with this digest',
          found: what,
        });
      if (upTo === undefined) break;
      begun.evidence = upTo;
      begun.counts.evidence += pieces;
      await this.worked(begun, { bytes, share: Number.parseInt(upTo.slice(0, 8), 16) / 2 ** 32 });
      if (signal.aborted) return;
    }
    this.nextPart(begun, 'read models');
  }

  private async holdModels(begun: PassState): Promise<boolean> {
    const { pool, connectionString, store, prefix, signal } = this.parts;
    const { report, clock } = this;
    return checkModels(
      {
        ...{ pool, connectionString, store, prefix, signal, report, clock },
        isDamaged: () => this.isFound(['event', 'evidence']),
        onNotWhole: (model, skipped = '') => (begun.notWhole = { ...begun.notWhole, [model]: skipped }),
        onWork: async (model, { bytes, rows, place }) => {
          if (begun.model !== model) delete begun.place;
          begun.model = model;
          if (place !== undefined) begun.place = place;
          begun.counts.rows += rows;
          await this.worked(begun, { bytes, share: 0.5 });
        },
      },
      { model: begun.model, place: begun.place },
    );
  }

  private async end(begun: PassState): Promise<SweepEnded> {
    const { pass } = this.state;
    const { uncounted, notWhole = {} } = begun;
    const skipped = [
      ...(uncounted === undefined ? [] : [`stream counts: ${uncounted}`]),
      ...Object.entries(notWhole).flatMap(([model, why]) => (why === '' ? [] : [`${model}: ${why}`])),
    ];
    await this.book.endPass(({ what, where }) => {
      if (what === 'count') return uncounted !== undefined;
      return what === 'read_model' && Object.keys(notWhole).some((model) => isOfModel(where, model));
    });
    const findings = this.book.open();
    await this.parts.events.ended(pass, begun, { open: findings.length, skipped });
    const { breaks, restoration, counts, untold } = begun;
    const at = this.clock.now().toISOString();
    this.state.ended = { pass, at, breaks, restoration, ...(skipped.length === 0 ? {} : { skipped }) };
    delete this.state.begun;
    delete this.state.unread;
    return { pass, counts, findings, untold, skipped };
  }

  private nextPart(begun: PassState, part: PassState['part']): void {
    begun.part = part;
    this.inPart = 0;
    this.save();
  }

  private async worked(begun: PassState, { bytes, share }: { bytes: number; share: number }): Promise<void> {
    begun.counts.bytes += bytes;
    this.inPart = share;
    if (this.clock.monotonicMs() - this.savedAtMs >= SAVE_EVERY_MS) this.save();
    await this.pace.spend(bytes);
  }

  private save(): void {
    const { keeper, onProgress } = this.parts;
    keeper.write(this.state);
    this.savedAtMs = this.clock.monotonicMs();
    const { begun, pass } = this.state;
    if (begun === undefined) return;
    const share = (PART_SHARES[begun.part] + Math.min(1, this.inPart)) / PARTS;
    onProgress?.({ pass, part: begun.part, share, counts: begun.counts, findings: this.book.open().length });
  }
}
