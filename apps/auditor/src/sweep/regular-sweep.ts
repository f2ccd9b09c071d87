import { newestRestoration } from '#backup';
import { systemClock, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import { sentenceOf, type ServiceLog, type Trouble } from '#service';
import type { AuditorFolder } from '../memory/folder.js';
import { findingWords, type FindingKind } from './finding.js';
import { FindingBook } from './finding-book.js';
import type { SweepState, StateKeeper } from './state-file.js';
import { COPY_PREFIX } from './models-check.js';
import { Sweep, type SweepParts, type SweepProgress } from './sweep.js';

export interface RegularSweepOptions extends Omit<SweepParts, 'onProgress' | 'prefix'> {
  pool: Pool;
  folder: AuditorFolder;
  keeper: StateKeeper;
  /** From the end of a pass to the beginning of the next; 0 for none at all. */
  everyMs: number;
  log: ServiceLog;
}

/** What metrics show of the sweep. */
export interface SweepFigures {
  findings: Record<FindingKind, number>;
  /** Tables, or counts, that the last pass did not compare. */
  notCompared: number;
  /** Of the pass that is under way; undefined between two. */
  share: number | undefined;
  /** Passes that came to their end. */
  passes: number;
  /** Since the last one ended, or else since this process began. */
  ageSeconds: number;
  /** For how long the next one has been due; undefined where none is wanted. */
  lateSeconds: number | undefined;
}

/** What health calls findings that are not known. */
const UNREAD = 'audit memory of findings';
/** A start is not slowed by it, and what was only just written is left to settle. */
const FIRST_AFTER_MS = 60_000;
const LOOK_EVERY_MS = 60_000;
const NOTHING: Pick<ConstructorParameters<typeof FindingBook>[1], 'found' | 'gone'> = {
  found: () => Promise.resolve(),
  gone: () => Promise.resolve(),
};

/** Sweeps again and again, slowly. After a restore, or a break that a person told, at once. */
export class RegularSweep {
  private readonly clock: Clock;
  private readonly startedAt: Date;
  private failing: { since: Date; reason: string } | undefined;
  private progress: SweepProgress | undefined;

  constructor(private readonly options: RegularSweepOptions) {
    this.clock = options.clock ?? systemClock;
    this.startedAt = this.clock.now();
  }

  /** Until the signal. Errors are said, never thrown. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.options.everyMs === 0) return;
    await this.clock.wait(FIRST_AFTER_MS, signal);
    while (!signal.aborted) {
      try {
        if (await this.isDue()) await this.pass();
        this.failing = undefined;
      } catch (error) {
        this.failing = { since: this.failing?.since ?? this.clock.now(), reason: sentenceOf(error) };
        this.options.log.error({ err: error }, 'the sweep cannot go on; it is retried');
      }
      this.progress = undefined;
      await this.clock.wait(LOOK_EVERY_MS, signal);
    }
  }

  /** What health tells: what was found, what was not looked at, and what keeps it from looking. */
  troubles(): Trouble[] {
    const { failing } = this;
    const told = this.toldTroubles();
    if (failing === undefined) return told;
    return [...told, { name: 'audit sweep', since: failing.since.toISOString(), reason: failing.reason }];
  }

  /** A folder that cannot be read is one of them. */
  private toldTroubles(): Trouble[] {
    try {
      const { state } = this;
      return [...foundTrouble(state), ...notComparedTrouble(state), ...unreadTrouble(state)];
    } catch (error) {
      return [{ name: UNREAD, since: this.clock.now().toISOString(), reason: sentenceOf(error) }];
    }
  }

  figures(): SweepFigures {
    const { state } = this;
    const { everyMs } = this.options;
    const since = state.ended === undefined ? this.startedAt : new Date(state.ended.at);
    const ageMs = Math.max(0, this.clock.now().getTime() - since.getTime());
    return {
      findings: new FindingBook(state, NOTHING, () => this.clock.now()).counts(),
      notCompared: state.ended?.skipped?.length ?? 0,
      share: this.progress?.share,
      passes: state.ended?.pass ?? 0,
      ageSeconds: ageMs / 1_000,
      // The first is due at once.
      lateSeconds: everyMs === 0 ? undefined : Math.max(0, ageMs - (state.ended === undefined ? 0 : everyMs)) / 1_000,
    };
  }

  private get state(): SweepState {
    return this.options.keeper.read();
  }

  private async isDue(): Promise<boolean> {
    const { begun, ended } = this.state;
    if (begun !== undefined || ended === undefined) return true;
    const { pool, folder, everyMs } = this.options;
    if (ended.breaks !== folder.read().breaks.length) return true;
    if (ended.restoration !== ((await newestRestoration(pool))?.id ?? null)) return true;
    const sinceMs = this.clock.now().getTime() - Date.parse(ended.at);
    // A clock that was wrong then must not end the sweeps for years.
    return sinceMs >= everyMs || sinceMs < 0;
  }

  private async pass(): Promise<void> {
    const { log } = this.options;
    const onProgress = (progress: SweepProgress): void => void (this.progress = progress);
    const outcome = await new Sweep({ ...this.options, prefix: COPY_PREFIX.sweep, onProgress }).runPass();
    if (typeof outcome === 'string') return;
    const { pass, counts, findings, skipped } = outcome;
    const about = { pass, ...counts, findings: findings.length, skipped };
    if (findings.length > 0) log.error(about, `a sweep has findings, first: ${findingWords(findings[0] as never)}`);
    else if (skipped.length > 0) log.warn(about, 'the sweep found no difference, but could not compare everything');
    else log.info(about, 'the sweep found everything as signed');
  }
}

function foundTrouble({ findings }: SweepState): Trouble[] {
  const open = findings.filter(({ isOpen }) => isOpen);
  const [first] = open;
  if (first === undefined) return [];
  return [{ name: 'audit findings', since: first.since, reason: `${open.length} open, first: ${findingWords(first)}` }];
}

/** What was found before may not be known: a pass tells. */
const unreadTrouble = ({ unread }: SweepState): Trouble[] =>
  unread === undefined ? [] : [{ name: UNREAD, since: unread.at, reason: unread.reason }];

/** Whoever owns a table can keep the sweep from it: what is not looked at is told as what is found. */
function notComparedTrouble({ ended }: SweepState): Trouble[] {
  if (ended?.skipped === undefined) return [];
  return [{ name: 'audit not compared', since: ended.at, reason: ended.skipped.join('; ') }];
}
