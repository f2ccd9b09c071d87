import * as doc from '../../../apps/sandbox/test/documents.js';
import { seededRandom, type Random } from '../../../apps/cli/src/sample/random.js';
import type { CaseSighting } from '#domain';
import { systemClock } from '#kernel';
import { until } from '../../support/until.js';
import { complaintsOf } from './checks.js';
import { MUST_STRIKE, partOf, planKills, standingOf, strike, type PlannedKill } from './points.js';
import type { MadeRun } from './runs.js';
import { ACCOUNT, Stage } from './stage.js';
import { StockFiles } from './stock-files.js';

export interface ReconcilerCampaign {
  seed: number;
  /** Stock files, one after the other, each a run. */
  files: number;
  /** Runs behind them that are asked for over HTTP. */
  asked: number;
  /** kill -9 in each of these runs; a run that ends its process five times is given up, as it should be. */
  kills: number;
  packs: number;
}

export interface ReconcilerReport {
  way: string;
  /** Who was killed, and where the run was: `worker in fetch`. */
  kills: string[];
  /** Documents that were accepted meanwhile. */
  documents: number;
  /** Items that cases had though the run that told them did not judge them. */
  carried: number;
  complaints: string[];
}

const RUN_LIMIT_MS = 180_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Between two documents. */
const FEED_EVERY_MS = 500;
const MOST_DOCUMENTS = 60;
/** Runs behind the planned ones, so that a part is struck although the machine was slow. */
const MOST_FURTHER_RUNS = 8;

/**
 * Gives stock files to a reconciler while documents go on, kills it, its comparison and the worker at seeded moments of
 * their runs, and starts them again: each run must end once, as it would have without.
 */
export async function runReconcilerCampaign(options: ReconcilerCampaign): Promise<ReconcilerReport> {
  const random = seededRandom(options.seed);
  const way = random.pick(['list', 'filter']);
  const stage = await Stage.open({ seed: options.seed, way });
  const feeding = new AbortController();
  try {
    const fed = feed(stage, feeding.signal);
    const life = new Life(stage, random, options);
    const runs = await life.live();
    await until('a document is accepted', async () => (await accepted(stage)) > 0);
    feeding.abort();
    await fed;
    await stage.stop();
    const complaints = await complaintsOf(stage, runs, life.callsInHand);
    const [documents, carried] = [await accepted(stage), await carriedItems(stage)];
    return { way, kills: life.struck, documents, carried, complaints };
  } finally {
    feeding.abort();
    await stage.close();
  }
}

/** One arrival after the other, of packs that no stock file names. */
async function feed(stage: Stage, signal: AbortSignal): Promise<void> {
  for (let n = 0; n < MOST_DOCUMENTS && !signal.aborted; n += 1) {
    await stage.post('/v1/commands', { command_id: `d-${n}`, account: ACCOUNT, xml: doc.accept([doc.pack(n)]) });
    await systemClock.wait(FEED_EVERY_MS, signal);
  }
}

async function accepted({ db }: Stage): Promise<number> {
  const { rows } = await db.pool.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM document_outcome WHERE outcome = 'accepted'`,
  );
  return rows[0]?.n ?? 0;
}

async function carriedItems({ log }: Stage): Promise<number> {
  const events = [...(await log.streams('case-')).values()].flat() as { data: { seen?: CaseSighting } }[];
  return events.reduce((sum, { data: { seen } }) => sum + (seen?.unjudged ?? 0), 0);
}

class Life {
  readonly struck: string[] = [];
  /** Calls that a killed worker may have made in vain. */
  callsInHand = 0;
  private readonly files: StockFiles;

  constructor(
    private readonly stage: Stage,
    private readonly random: Random,
    private readonly options: ReconcilerCampaign,
  ) {
    this.files = new StockFiles(random, { packs: options.packs, series: options.packs / 4 });
  }

  async live(): Promise<MadeRun[]> {
    const { files, asked, kills } = this.options;
    const plan = planKills(this.random, { runs: files + asked, each: kills });
    await this.stage.control('/plant', this.files.planted);
    const runs: MadeRun[] = [];
    for (const [n, planned] of plan.entries()) {
      const run = n < files ? this.put(n) : await this.ask();
      runs.push(run);
      await this.make(run, planned);
    }
    return [...runs, ...(await this.strikeWhatWasMissed(files))];
  }

  /** Where a planned kill falls depends on the machine: a part that none fell in is aimed at, a file each time. */
  private async strikeWhatWasMissed(from: number): Promise<MadeRun[]> {
    const runs: MadeRun[] = [];
    for (const [part, aimed] of Object.entries(MUST_STRIKE)) {
      while (runs.length < MOST_FURTHER_RUNS && !this.struck.some((where) => where.endsWith(` in ${part}`))) {
        const run = this.put(from + runs.length);
        runs.push(run);
        await this.make(run, [aimed]);
      }
    }
    return runs;
  }

  /** True behind every answer of the registry, so that none is younger than the stock. */
  private put(n: number): MadeRun {
    const { content, expected } = this.files.next();
    const moment = new Date(systemClock.now().getTime() + HOUR_MS + n * MINUTE_MS);
    const name = `stock-${n}.csv`;
    return { runId: this.stage.put(name, content, moment), reason: `the stock file ${name}`, expected };
  }

  /** With the newest stock. */
  private async ask(): Promise<MadeRun> {
    const reason = 'a person asks';
    const { id } = await this.stage.post('/v1/reconciliations', { reason, packs: { account: ACCOUNT, way: 'list' } });
    return { runId: id, reason, expected: undefined };
  }

  private async make(run: MadeRun, planned: PlannedKill[]): Promise<void> {
    const { stage } = this;
    for (const { what, victim, isThere, delayMs } of planned) {
      let standing = await standingOf(stage, run);
      await until(
        `${run.reason} reaches ${what}`,
        async () => isThere((standing = await standingOf(stage, run))) || standing.isOver,
        RUN_LIMIT_MS,
      );
      await systemClock.wait(delayMs);
      await strike(stage, victim);
      if (victim === 'worker' || victim === 'both') this.callsInHand += 1;
      this.struck.push(`${victim} in ${partOf(await standingOf(stage, run))}`);
    }
    await until(`${run.reason} ends`, () => stage.hasEnded(run.runId), RUN_LIMIT_MS);
  }
}
