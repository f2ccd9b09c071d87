import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventStore } from '#event-store';
import { defined, PedigreeError, uuid5, type Clock } from '#kernel';
import { databaseIsAway, type Pool } from '#postgres';
import {
  CaseLog,
  casesAreRead,
  compareFile,
  findRequest,
  keepRequest,
  noteProgress,
  openPackCases,
  readFileRun,
  readSchedule,
  recordPackRun,
  recordPackRunFailure,
  runsFolder,
  stockSide,
  writeFileRun,
  writeSchedule,
  type CaseLogOptions,
  type ComparingParts,
  type DueDays,
  type FileRun,
  type RunSchedule,
} from '#reconciliation';
import type { SegmentSettings } from '#segments';
import { sentenceOf, type ServiceLog } from '#service';
import type { StockRuns } from './config.js';
import { StockFolder, type SettledFile } from './stock-folder.js';

export interface StockRunsParts {
  pool: Pool;
  store: EventStore;
  installation: CaseLogOptions['installation'];
  schedule: ComparingParts['schedule'];
  stock: StockRuns;
  segments: SegmentSettings;
  dueDays: DueDays;
  log: ServiceLog;
  clock: Clock;
  signal: AbortSignal;
  /** What the processes of the comparison run; default: the one beside it. */
  program?: string;
}

const LOOK_EVERY_MS = 30_000;
/** Attempts at a run, and the wait behind the first one: four times as long behind each further one. */
const MOST_ATTEMPTS = 5;
const FIRST_WAIT_MS = 60_000;
const CASES_PATIENCE_MS = 30_000;
const MOST_RUNS = 10_000;
/** Whoever makes such a run holds this lock: one at a time in an installation. */
const LOCK_KEY = 0x7374_6f63;
export const ACTOR = { kind: 'system', name: 'reconciler', authenticatedBy: 'process' } as const;

/** The same bytes are one run for ever, whatever the file is called. */
export const stockRunId = (installationId: string, sha256: string): string =>
  uuid5(`stock-file:${sha256}`, installationId);

/** Makes a run of each new stock file. Errors are said, never thrown. */
export async function keepStockRuns(parts: StockRunsParts): Promise<void> {
  const { stock, log, clock, signal } = parts;
  const runs = new StockFileRuns(parts, new StockFolder(stock.folder, clock));
  for (; !signal.aborted; await clock.wait(LOOK_EVERY_MS, signal)) {
    try {
      await runs.look();
    } catch (error) {
      log.error({ err: error, folder: stock.folder }, 'stock files could not be looked at');
    }
  }
}

/** Hours may go over midnight: `20-6`. */
export const isWithin = ([from, to]: StockRuns['hours'], hour: number): boolean =>
  from < to ? hour >= from && hour < to : hour >= from || hour < to;

/** The runs of the files of a folder. */
export class StockFileRuns {
  /** Digests that have their run. */
  private readonly taken = new Set<string>();
  private told = Promise.resolve();

  constructor(
    private readonly parts: StockRunsParts,
    private readonly folder: StockFolder,
  ) {}

  /** Takes new files, then makes what is to be made now. */
  async look(): Promise<void> {
    const { log, stock, clock, signal } = this.parts;
    const { settled, tooMany } = await this.folder.look();
    if (tooMany > 0) log.error({ tooMany, folder: stock.folder }, 'the folder has more stock files than are looked at');
    for (const file of settled) await this.take(file);
    if (!isWithin(stock.hours, clock.now().getUTCHours())) return;
    for (const runId of await this.waiting()) {
      if (signal.aborted) return;
      await this.alone(() => this.attempt(runId));
      await this.told;
    }
  }

  /** Once for each content: what is written first is what makes it go on after a crash. */
  private async take({ name, path, bytes, modifiedAt, sha256 }: SettledFile): Promise<void> {
    const { pool, installation, stock, segments, log } = this.parts;
    if (this.taken.has(sha256)) return;
    const runId = stockRunId(installation.id, sha256);
    if ((await findRequest(pool, runId)) === undefined) {
      const run: FileRun = {
        ...{ runId, stock: path, sha256, mapping: stock.mapping, moment: modifiedAt.toISOString(), branch: null },
        ...{ asOf: null, account: stock.account, way: stock.way, registry: null, disposals: null },
        ...{ settings: stock.settings, dryRun: false, processes: 1, reason: `the stock file ${name}` },
      };
      const folder = join(runsFolder(segments.folder), runId);
      mkdirSync(folder, { recursive: true });
      writeFileRun(folder, run);
      writeSchedule(folder, { attempts: 0, notBefore: null, ended: null });
      await keepRequest(pool, { runId, reason: run.reason, actor: ACTOR, kind: 'packs' });
      log.info({ runId, name, bytes, sha256 }, 'a stock file is taken');
    }
    this.taken.add(sha256);
  }

  private async waiting(): Promise<string[]> {
    const { segments, clock } = this.parts;
    const runs = runsFolder(segments.folder);
    const now = clock.now().toISOString();
    const names = (await readdir(runs).catch(() => [])).slice(0, MOST_RUNS);
    return names.filter((name) => {
      const schedule = readSchedule(join(runs, name));
      return schedule?.ended === null && (schedule.notBefore === null || schedule.notBefore <= now);
    });
  }

  /** Held by the session, which is kept out of the pool meanwhile; the server frees it when the process dies. */
  private async alone(work: () => Promise<void>): Promise<void> {
    const session = await this.parts.pool.connect();
    let broken: Error | undefined;
    try {
      const { rows } = await session.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [LOCK_KEY]);
      if (rows[0]?.mine !== true) return;
      await work();
      await session.query('SELECT pg_advisory_unlock($1)', [LOCK_KEY]);
    } catch (error) {
      broken = error as Error;
      throw error;
    } finally {
      session.release(broken);
    }
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
    const run = await readFileRun(folder);
    const request = { runId, reason: run.reason, actor: ACTOR };
    await keepRequest(pool, { ...request, kind: 'packs' });
    try {
      if (schedule.attempts > MOST_ATTEMPTS) throw new Error('the program ended at each attempt');
      await this.make(run);
      writeSchedule(folder, { ...schedule, ended: 'completed' });
    } catch (error) {
      if (signal.aborted || databaseIsAway(error)) return writeSchedule(folder, before);
      if (!isFinal(error) && schedule.attempts < MOST_ATTEMPTS) return this.later(folder, { runId, schedule, error });
      await recordPackRunFailure(this.parts, request, sentenceOf(error));
      writeSchedule(folder, { ...schedule, ended: 'failed' });
      log.error({ err: error, runId, file: run.stock }, 'a run of a stock file has failed, and is not tried again');
    }
  }

  private async later(
    folder: string,
    { runId, schedule, error }: { runId: string; schedule: RunSchedule; error: unknown },
  ): Promise<void> {
    const { clock, log, pool } = this.parts;
    const waitMs = FIRST_WAIT_MS * 4 ** (schedule.attempts - 1);
    const notBefore = new Date(clock.now().getTime() + waitMs).toISOString();
    writeSchedule(folder, { ...schedule, notBefore });
    log.warn({ err: error, runId, notBefore }, 'a run of a stock file is tried again later');
    await this.told;
    await noteProgress(pool, runId, `attempt ${schedule.attempts} failed: ${sentenceOf(error)}; again at ${notBefore}`);
  }

  /** The same as `pedigree reconcile FILE`, and its cases. */
  private async make(run: FileRun): Promise<void> {
    const { pool, store, installation, segments, schedule, clock, signal, program } = this.parts;
    const say = (text: string): void => this.tell(run.runId, text);
    const wait = async (delayMs: number): Promise<void> => {
      await clock.wait(delayMs, signal);
      signal.throwIfAborted();
    };
    const parts = { settings: segments, say, ...defined({ program }) };
    say('the stock file is read');
    const stock = await stockSide(parts, run);
    signal.throwIfAborted();
    const behind = { pool, actor: ACTOR, schedule, clock: { wait }, onFetch: fetchTeller(say) };
    const made = await compareFile({ ...parts, ...behind }, run, stock);
    const request = { runId: run.runId, reason: run.reason, actor: ACTOR };
    await recordPackRun({ pool, store, installation, clock }, request, made);
    await this.openCases(made.folder, run.runId);
  }

  /** One after the other, so that the last word stands. */
  private tell(runId: string, text: string): void {
    const { pool, log } = this.parts;
    log.info({ runId }, text);
    this.told = this.told
      .then(() => noteProgress(pool, runId, text))
      .catch((err: unknown) => log.warn({ err }, 'the progress of a run was not noted'));
  }

  private async openCases(folder: string, runId: string): Promise<void> {
    const { pool, store, installation, segments, dueDays, log, clock, signal } = this.parts;
    await casesAreRead(pool, await store.head(), { patienceMs: CASES_PATIENCE_MS, clock, signal });
    const runs = runsFolder(segments.folder);
    const opening = await openPackCases(folder, {
      ...{ db: pool, log: new CaseLog({ db: pool, store, installation }), dueDays },
      duck: { memoryMb: segments.memoryMb, threads: segments.threads },
      actor: ACTOR,
      earlier: (await readdir(runs)).slice(0, MOST_RUNS).map((name) => join(runs, name, 'comparison')),
    });
    log.info({ runId, ...opening }, 'the cases of a run of a stock file are recorded');
  }
}

/** What a file or a setting has wrong stays wrong; what is away may come back. */
const isFinal = (error: unknown): boolean => error instanceof PedigreeError && error.code !== 'unavailable';

function fetchTeller(say: (text: string) => void): NonNullable<ComparingParts['onFetch']> {
  let told = '';
  return ({ phase, nextPage, pages }) => {
    const now = `the registry is read, ${phase}: ${nextPage} of ${pages ?? 'so many'} pages`;
    if (now !== told) say(now);
    told = now;
  };
}
