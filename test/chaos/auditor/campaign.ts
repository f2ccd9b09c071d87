import { seededRandom, type Random } from '../../../apps/cli/src/sample/random.js';
import { LogKeys } from '#proofs';
import { AuditorFolder } from '../../../apps/auditor/src/memory/folder.js';
import { rememberedCheckpoint, toldHead } from '../../../apps/auditor/src/memory/hold.js';
import { openBreaks } from '#proofs';
import { findingWords } from '../../../apps/auditor/src/sweep/finding.js';
import { LogCheck } from '../../../apps/auditor/src/sweep/log-check.js';
import { systemClock } from '#kernel';
import type { Checkpoint } from '#merkle';
import { patient, until } from '../../support/until.js';
import { AlarmWatch } from './alarm-watch.js';
import { Stage } from './stage.js';
import { TAMPERINGS, type Tampering, type Verdict } from './tamperings.js';

export interface AuditorCampaign {
  seed: number;
  /** Kills, lost and restored folders, and restores of the database, before the tampering. */
  faults: number;
}

export interface AuditorReport {
  hasWitness: boolean;
  /** What was done, in order. */
  faults: string[];
  tampering: string;
  expected: Verdict;
  verdict: Verdict;
  said: string;
  says: RegExp;
  /** What was said although nothing was wrong. */
  falseAlarms: string[];
  deaths: string[];
}

/** Its health looks every second; a loaded machine may be late. */
const ALARM_LIMIT_MS = 40_000;
const QUIET_MS = 6_000;
const MOST_PAUSE_MS = 1_500;
/** A look holds the newest 4,096 events: the first of so many are old ones. */
const FIRST_EVENTS = 5_000;
const APPENDED_AT_ONCE = 500;

const FAULTS = ['kill', 'kill', 'kill', 'lost folder', 'old folder', 'restored database'];

/** The log is rewritten from a point on, and the auditor's folder is the copy from before that. */
const REWRITTEN = 'the log is rewritten, with an old folder';

/**
 * Kills an auditor at seeded moments, loses its folder, puts back old copies of the folder and of the database, and at
 * the end tampers with the log or not: what is said is compared with what must be said.
 */
export async function runAuditorCampaign({ seed, faults }: AuditorCampaign): Promise<AuditorReport> {
  const random = seededRandom(seed);
  const hasWitness = seed % 2 === 0;
  const stage = await Stage.open({ hasWitness });
  const watch = new AlarmWatch(stage);
  try {
    stage.witness?.start();
    stage.auditor.start();
    watch.start();
    const life = new Life(stage, watch, random);
    await life.begin();
    for (let n = 0; n < faults; n += 1) await life.fault();
    await life.grow();
    const tampering = life.pick(hasWitness);
    watch.expectAlarms();
    const leaves = await life.signed();
    if (tampering.what === REWRITTEN) await life.rewrite();
    else await stage.db.pool.query(tampering.sql({ leaves, middle: 5 }));
    const { verdict, said } = await verdictOf(stage, tampering.verdict);
    const { verdict: expected, says } = tampering;
    return {
      ...{ hasWitness, faults: life.done, tampering: tampering.what, expected, verdict, said, says },
      falseAlarms: await watch.stop(),
      deaths: stage.deaths.map(({ program, how, lastWords }) => `${program}: ${how}: ${lastWords}`),
    };
  } finally {
    await watch.stop();
    await stage.close();
  }
}

/** What befalls the auditor. After each fault it must come to sign everything again. */
class Life {
  readonly done: string[] = [];
  private coming: string[] = [];
  private copies = 0;
  private breaks = 0;

  constructor(
    private readonly stage: Stage,
    private readonly watch: AlarmWatch,
    private readonly random: Random,
  ) {}

  async begin(): Promise<void> {
    for (let n = 0; n < FIRST_EVENTS; n += APPENDED_AT_ONCE) await this.stage.append(APPENDED_AT_ONCE);
    await this.grow();
    await this.copy();
  }

  async fault(): Promise<void> {
    if (this.coming.length === 0) this.coming = shuffled(this.random, FAULTS);
    const kind = this.coming.pop() as string;
    this.done.push(kind);
    if (kind === 'restored database') return this.restoreDatabase();
    await this.stage.append(10 + this.random.below(150));
    await systemClock.wait(this.random.below(MOST_PAUSE_MS));
    await this.stage.auditor.kill();
    if (kind === 'lost folder') this.stage.loseFolder();
    if (kind === 'old folder') this.stage.putFolderBack(this.newestCopy);
    this.stage.auditor.start();
  }

  /** More events than there were, all of them signed, in a page behind those that were there. */
  async grow(): Promise<void> {
    for (const _ of [1, 2]) {
      await this.stage.append(20 + this.random.below(50));
      await this.settled();
    }
  }

  head(): Promise<number> {
    return this.stage.store.head().then(Number);
  }

  /** An event behind these, such as the newest count of the streams, may be changed before it is sealed. */
  async signed(): Promise<number> {
    const { rows } = await this.stage.db.pool.query<{ size: number }>(
      'SELECT max(size)::integer AS size FROM audit_checkpoint',
    );
    return rows[0]?.size ?? 0;
  }

  pick(hasWitness: boolean): Tampering {
    const rewritten: Tampering = {
      what: REWRITTEN,
      sql: () => '',
      verdict: hasWitness ? 'witnessed history' : 'quiet',
      says: hasWitness ? /^witness witness\.example\/one: / : /^$/,
    };
    return this.random.pick([...TAMPERINGS, rewritten, rewritten]);
  }

  async rewrite(): Promise<void> {
    const { stage } = this;
    await this.copy();
    const before = await this.head();
    await this.grow();
    await stage.auditor.kill();
    stage.putFolderBack(this.newestCopy);
    await stage.putSealedBack(this.newestCopy);
    await stage.db.pool.query(`UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = ${before + 3}`);
    stage.auditor.start();
    await stage.append(5);
    await this.settled({ isCosigned: false });
  }

  private get newestCopy(): string {
    return `copy_${this.copies}`;
  }

  private async copy(): Promise<void> {
    await this.stage.auditor.kill();
    this.copies += 1;
    await this.stage.keep(this.newestCopy);
    this.stage.auditor.start();
  }

  /** Honestly: a person tells it, with the reason. */
  private async restoreDatabase(): Promise<void> {
    const { stage, watch } = this;
    await this.grow();
    watch.expectAlarms();
    await stage.auditor.kill();
    await stage.putTablesBack(this.newestCopy);
    stage.auditor.start();
    await until('the auditor notices the restore', async () => (await stage.down('signed history')) !== undefined);
    await stage.tellBreak('restored the backup: the disk failed');
    this.breaks += 1;
    await stage.witnessAgain(this.breaks);
    await until('the alarm ends', () => watch.isQuiet());
    watch.expectNone();
    await this.grow();
    await this.copy();
  }

  /** Every event is sealed and signed, and cosigned where there is a witness. */
  private settled({ isCosigned = true } = {}): Promise<void> {
    const { stage } = this;
    return until('every event is signed', async () => {
      const { rows } = await stage.db.pool.query<{ is_signed: boolean; is_cosigned: boolean }>(
        `WITH newest AS (SELECT max(size) AS size FROM audit_checkpoint
           WHERE breaks = (SELECT count(*) FROM audit_break))
         SELECT size = (SELECT max(position) FROM event) AS is_signed,
           EXISTS (SELECT FROM audit_cosignature c WHERE c.size = newest.size) AS is_cosigned FROM newest`,
      );
      const [row] = rows;
      return row?.is_signed === true && (stage.witness === undefined || !isCosigned || row.is_cosigned);
    });
  }
}

function shuffled<T>(random: Random, from: readonly T[]): T[] {
  const left = [...from];
  return Array.from(from, () => left.splice(random.below(left.length), 1)[0] as T);
}

async function verdictOf(stage: Stage, expected: Verdict): Promise<{ verdict: Verdict; said: string }> {
  const isAlarm = expected === 'signed history' || expected === 'witnessed history';
  const endMs = systemClock.monotonicMs() + (isAlarm ? patient(ALARM_LIMIT_MS) : QUIET_MS);
  while (systemClock.monotonicMs() < endMs) {
    for (const part of ['signed history', 'witnessed history'] as const) {
      const said = await stage.down(part);
      if (said !== undefined) return { verdict: part, said };
    }
    await systemClock.wait(100);
  }
  const [finding] = await swept(stage);
  return finding === undefined ? { verdict: 'quiet', said: '' } : { verdict: 'sweep', said: finding };
}

/** What a sweep of the log finds, judged by the folder of the auditor. */
async function swept({ db, store, signer, folder: path }: Stage): Promise<string[]> {
  const findings: string[] = [];
  const folder = new AuditorFolder(path);
  const memory = folder.read();
  const keys = new LogKeys(signer);
  const check = new LogCheck({
    ...{ pool: db.pool, store, keys, leaves: folder.leaves, breaks: memory.breaks.length },
    signed: rememberedCheckpoint(keys, memory) as Checkpoint,
    witnesses: [],
    told: toldHead(openBreaks(memory.breaks, (note) => keys.openBreak(note))),
    report: (finding) => Promise.resolve(void findings.push(findingWords(finding))),
  });
  while ((await check.next()) !== undefined);
  await check.finish();
  return findings;
}
