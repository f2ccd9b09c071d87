import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { logIsAway, type Actor } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import { databaseIsAway, underLocks } from '#postgres';
import {
  CaseLog,
  casesAreRead,
  compareFile,
  EARLIER_RECORD,
  findRequest,
  findRun,
  isByEarlierRecord,
  keepRequest,
  laterRun,
  mustHaveCome,
  namesIn,
  noteDryResult,
  NO_CASES,
  noteProgress,
  packRunData,
  openPackCases,
  readFileRun,
  readRun,
  readSchedule,
  readSnapshot,
  recordPackRun,
  recordPackRunFailure,
  runLock,
  runsFolder,
  stockSide,
  writeFileRun,
  writeSchedule,
  type FileRun,
  type RunEstimate,
  type RunSchedule,
} from '#reconciliation';
import { sentenceOf } from '#service';
import type { StockRuns } from './config.js';
import { estimating, watchingFetch } from './run-progress.js';
import { fileRunOf, runOfWrite, stockRunId } from './run-of-file.js';
import { StockFolder, type SettledFile } from './stock-folder.js';
import { ACTOR, type StockRunsParts } from './stock-run-parts.js';
import { takeAsked } from './take-asked.js';

/** Where a file is whole sooner than in a minute, it is looked for more often. */
const MOST_LOOK_EVERY_MS = 30_000;
/** Attempts at a run, and the wait behind the first one: four times as long behind each further one. */
const MOST_ATTEMPTS = 5;
const FIRST_WAIT_MS = 60_000;
const MOST_WAIT_MS = FIRST_WAIT_MS * 4 ** 3;
/** Of a run that is recorded, and whose cases are still to be opened: a day of them. */
const MOST_CASES_ATTEMPTS = 24;
const CASES_PATIENCE_MS = 30_000;
/** Whoever makes such a run holds this lock: one at a time in an installation. */
const LOCK_KEY = 0x7374_6f63;
const CHECK = 'check pack runs';
const READ_FILES = 'read stock files';

/** Makes a run of each new stock file, and those that were asked for. Errors are said, never thrown. */
export async function keepStockRuns(parts: StockRunsParts): Promise<void> {
  const { stock, log, troubles, clock, signal } = parts;
  const folder = stock === undefined ? undefined : new StockFolder(stock.folder, stock.settledMs, clock);
  const runs = new PackRuns(parts, folder);
  const lookEveryMs = Math.min(MOST_LOOK_EVERY_MS, (stock?.settledMs ?? Infinity) / 2);
  for (; !signal.aborted; await clock.wait(lookEveryMs, signal)) {
    try {
      await runs.look();
    } catch (error) {
      log.error({ err: error, folder: stock?.folder }, 'could not check pack runs');
      troubles.failed(CHECK, error);
    }
  }
}

/** Hours may go over midnight: `20-6`. */
export const isWithin = ([from, to]: StockRuns['hours'], hour: number): boolean =>
  from < to ? hour >= from && hour < to : hour >= from || hour < to;

/** The runs of the files of a folder, and those that persons or a timetable have asked for. */
export class PackRuns {
  /** Writes of files that have a run. */
  private readonly taken = new Set<string>();
  /** Files that cannot be read, and why: said once. */
  private unreadable: ReadonlyMap<string, string> = new Map();
  /** Those that have ended: they are not read again. */
  private readonly over = new Set<string>();
  private told = Promise.resolve();

  constructor(
    private readonly parts: StockRunsParts,
    private readonly folder: StockFolder | undefined,
  ) {}

  /** Takes new files, then makes what is to be made now. */
  async look(): Promise<void> {
    const { stock, signal } = this.parts;
    let isWell = await this.apart({ folder: stock?.folder }, () => this.takeFiles());
    isWell = (await this.apart({}, () => takeAsked(this.parts, (work) => this.alone(work)))) && isWell;
    for (const runId of await this.waiting()) {
      if (signal.aborted) return;
      isWell = (await this.apart({ runId }, () => this.alone(() => this.attempt(runId), runId))) && isWell;
      await this.told;
    }
    if (isWell) this.parts.troubles.over(CHECK);
  }

  /** What fails here keeps nothing else back, unless the database is away. True where it went well. */
  private async apart(
    of: { folder?: string | undefined; runId?: string },
    work: () => Promise<void>,
  ): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (databaseIsAway(error)) throw error;
      this.parts.log.error({ err: error, ...of }, 'could not check pack runs');
      this.parts.troubles.failed(CHECK, error);
      return false;
    }
  }

  private async takeFiles(): Promise<void> {
    const { log, stock } = this.parts;
    if (stock === undefined || this.folder === undefined) return;
    const { settled, unreadable, tooMany } = await this.folder.look();
    if (tooMany > 0)
      log.error({ tooMany, folder: stock.folder }, 'the folder holds more stock files than one scan takes');
    for (const one of unreadable.filter(({ name, why }) => this.unreadable.get(name) !== why))
      log.error({ ...one, folder: stock.folder }, 'a file of the folder cannot be read, and is not compared');
    this.unreadable = new Map(unreadable.map(({ name, why }) => [name, why]));
    const [first] = unreadable;
    if (first === undefined) this.parts.troubles.over(READ_FILES);
    else this.parts.troubles.note(READ_FILES, `${unreadable.length} of the folder, ${first.name} first: ${first.why}`);
    for (const file of settled) await this.take(file, stock);
  }

  /** Once for each run: what is written first is what makes it go on after a crash. */
  private async take(file: SettledFile, stock: StockRuns): Promise<void> {
    const { installation, segments, pool, store, log } = this.parts;
    const write = `${stockRunId(installation.id, file)} ${file.modifiedAt.toISOString()}`;
    if (this.taken.has(write)) return;
    const next = await runOfWrite({ pool, store, installation, runs: runsFolder(segments.folder) }, file);
    if (next === 'later') return;
    if (next !== 'had its run') {
      const run = fileRunOf(file, { runId: next.runId, stock });
      const folder = join(runsFolder(segments.folder), run.runId);
      mkdirSync(folder, { recursive: true });
      writeFileRun(folder, run);
      writeSchedule(folder, { attempts: 0, notBefore: null, ended: null });
      await keepRequest(pool, { runId: run.runId, reason: run.reason, actor: ACTOR, kind: 'packs' });
      const { name, bytes, sha256 } = file;
      log.info({ runId: run.runId, name, bytes, sha256 }, 'took a stock file');
    }
    this.taken.add(write);
  }

  /** The earliest moment first, so that what a later stock shows has the last word. */
  private async waiting(): Promise<string[]> {
    const { segments, clock, stock } = this.parts;
    const runs = runsFolder(segments.folder);
    const now = clock.now().toISOString();
    const isHour = stock === undefined || isWithin(stock.hours, clock.now().getUTCHours());
    const names = (await namesIn(runs)).filter((name) => {
      if (this.over.has(name)) return false;
      const schedule = this.scheduleOf(join(runs, name));
      if (typeof schedule?.ended === 'string') this.over.add(name);
      if (schedule?.ended !== null || (!isHour && schedule.atAnyHour !== true)) return false;
      return schedule.notBefore === null || schedule.notBefore <= now;
    });
    const moments = new Map<string, string>();
    for (const name of names) moments.set(name, await momentOf(join(runs, name)));
    return names.sort((a, b) => ((moments.get(a) ?? '') < (moments.get(b) ?? '') ? -1 : 1));
  }

  private scheduleOf(folder: string): RunSchedule | undefined {
    try {
      return readSchedule(folder);
    } catch (error) {
      this.parts.log.error({ err: error, folder }, 'the schedule of a run is damaged: the run is not made');
      return undefined;
    }
  }

  /** While no other reconciler works. A run that a command goes on with waits. */
  private async alone(work: () => Promise<void>, runId?: string): Promise<void> {
    await underLocks(this.parts.pool, [LOCK_KEY, ...(runId === undefined ? [] : [runLock(runId)])], work);
  }

  private async attempt(runId: string): Promise<void> {
    const { segments, signal, log, pool } = this.parts;
    const folder = join(runsFolder(segments.folder), runId);
    // Another process may have made it since.
    const before = readSchedule(folder);
    if (before === undefined || before.ended !== null) return;
    const schedule: RunSchedule = { ...before, attempts: before.attempts + 1 };
    // A crash counts, too: a file that ends the process is not read for ever.
    writeSchedule(folder, schedule);
    const { reason = 'a run of which no request is kept', actor = ACTOR } = (await findRequest(pool, runId)) ?? {};
    const request = { runId, reason, actor };
    try {
      const run = await readFileRun(folder);
      request.reason = run.reason;
      await keepRequest(pool, { ...request, kind: 'packs' });
      const most = (await this.mostAttempts(runId)) ?? Infinity;
      if (schedule.attempts > most) throw new Error('the program ended at each attempt');
      await this.make(run, actor);
      writeSchedule(folder, { ...schedule, ended: 'completed' });
    } catch (error) {
      if (signal.aborted || databaseIsAway(error)) return writeSchedule(folder, before);
      if (await this.isLater(folder, { runId, before, schedule, error })) return;
      await recordPackRunFailure(this.parts, request, sentenceOf(error));
      writeSchedule(folder, { ...schedule, ended: 'failed' });
      log.error({ err: error, ...request }, 'the run of a stock file failed and is not retried');
    }
  }

  /**
   * A run that is recorded cannot fail any more: it is said to be completed, and its cases are missing. Undefined while
   * the log is away: that is not known then.
   */
  private async mostAttempts(runId: string): Promise<number | undefined> {
    const { pool, store } = this.parts;
    try {
      const run = await findRun(pool, store, runId);
      return run?.state === 'completed' ? MOST_CASES_ATTEMPTS : MOST_ATTEMPTS;
    } catch (error) {
      if (logIsAway(error)) return undefined;
      throw error;
    }
  }

  /** Whether it is tried again, and then when. An attempt while the log is away does not count. */
  private async isLater(
    folder: string,
    { runId, before, schedule, error }: { runId: string; before: RunSchedule; schedule: RunSchedule; error: unknown },
  ): Promise<boolean> {
    const most = await this.mostAttempts(runId);
    const isAgain = most === undefined || mayTryAgain(schedule, most, error);
    if (isAgain) await this.later(folder, { runId, schedule: most === undefined ? before : schedule, error });
    return isAgain;
  }

  private async later(
    folder: string,
    { runId, schedule, error }: { runId: string; schedule: RunSchedule; error: unknown },
  ): Promise<void> {
    const { clock, log, pool } = this.parts;
    const waitMs = Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 4 ** Math.max(0, schedule.attempts - 1));
    const notBefore = new Date(clock.now().getTime() + waitMs).toISOString();
    writeSchedule(folder, { ...schedule, notBefore });
    log.warn({ err: error, runId, notBefore }, 'the run of a stock file is retried later');
    await this.told;
    const progress = `attempt ${schedule.attempts} failed: ${sentenceOf(error)}; again at ${notBefore}`;
    await noteProgress(pool, runId, { progress });
  }

  /** The same as `pedigree reconcile FILE`, and its cases. */
  private async make(run: FileRun, actor: Actor): Promise<void> {
    const { pool, store, installation, segments, schedule, clock, signal, program } = this.parts;
    const tell = estimating(clock, (text, estimate) => this.tell(run.runId, text, estimate));
    const { say } = tell;
    const wait = async (delayMs: number): Promise<void> => {
      await clock.wait(delayMs, signal);
      signal.throwIfAborted();
    };
    const parts = { settings: segments, say, ...defined({ program }) };
    if (run.moment !== null) mustHaveCome(run.moment, clock.now(), { field: 'moment', what: run.stock });
    // Rules of another version would compare nothing in its folder, and its cases can be opened all the same.
    const recorded = await findRun(pool, store, run.runId);
    if (recorded?.state === 'completed')
      return this.openCases(run, join(runsFolder(segments.folder), run.runId, 'comparison'));
    say('the stock file is read');
    const stock = await stockSide(parts, run);
    signal.throwIfAborted();
    const fetching = watchingFetch(run.runId, this.parts);
    const onFetch: typeof tell.onFetch = (fetch) => (tell.onFetch(fetch), fetching.look(fetch));
    const behind = { pool, actor, schedule, clock: { wait, now: () => clock.now() }, onFetch };
    const made = await compareFile({ ...parts, ...behind }, run, stock).finally(fetching.end);
    if (run.dryRun) {
      const found = { ...packRunData(run.runId, made), at: clock.now().toISOString() };
      return noteDryResult(pool, run.runId, found);
    }
    const request = { runId: run.runId, reason: run.reason, actor };
    await recordPackRun({ pool, store, installation, clock }, request, made);
    await this.openCases(run, made.folder);
  }

  /** One after the other, so that the last word stands. */
  private tell(runId: string, text: string, estimate?: RunEstimate): void {
    const { pool, log } = this.parts;
    log.info({ runId }, text);
    this.told = this.told
      .then(() => noteProgress(pool, runId, { progress: text, estimate }))
      .catch((err: unknown) => log.warn({ err }, 'could not record the progress of a run'));
  }

  private async openCases(run: FileRun, folder: string): Promise<void> {
    const { runId, unconfirmed = false, dryRun } = run;
    // One that ended before it was noted as over is completed by what it noted, and tells no case all the same.
    if (dryRun) return;
    const { pool, store, installation, segments, dueDays, log, clock, signal } = this.parts;
    const record = await readRun(folder);
    if (record.unconfirmed === true && !unconfirmed) return log.warn({ runId }, NO_CASES);
    if (isByEarlierRecord(run)) return log.warn({ runId }, EARLIER_RECORD);
    const later = await laterRun(runsFolder(segments.folder), run, record);
    if (later !== undefined)
      log.warn({ runId, later }, 'a run of a later moment has looked at the same, so that no new case opens');
    await casesAreRead(pool, await store.head(), { patienceMs: CASES_PATIENCE_MS, clock, signal });
    const opening = await openPackCases(folder, {
      ...{ db: pool, log: new CaseLog({ db: pool, store, installation }), dueDays },
      duck: { memoryMb: segments.memoryMb, threads: segments.threads },
      ...{ actor: ACTOR, unconfirmed, onlyKnown: later !== undefined, now: clock.now() },
      onWarning: (text) => log.warn({ runId }, text),
    });
    log.info({ runId, ...opening }, 'recorded the cases of a stock file run');
  }
}

/** When its stock was true; of what cannot be read, the beginning: its attempt says why. */
async function momentOf(folder: string): Promise<string> {
  try {
    const { moment, stock } = await readFileRun(folder);
    return moment ?? (await readSnapshot(stock, 'stock')).moment;
  } catch {
    return '';
  }
}

const mayTryAgain = ({ attempts }: RunSchedule, most: number, error: unknown): boolean =>
  attempts < most && (!isFinal(error) || most > MOST_ATTEMPTS);

/** What a file or a setting has wrong stays wrong; what is away may come back. */
const isFinal = (error: unknown): boolean => error instanceof PedigreeError && error.code !== 'unavailable';
