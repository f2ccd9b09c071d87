import { expect } from '@jest/globals';
import { join } from 'node:path';
import { caseIdOf, packsSeen, partOf, type CaseCommand } from '#domain';
import { Duck } from '#duckdb';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { checkDigitOf } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas, RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { CaseLog } from '../src/cases/case-log.js';
import { DEFAULT_DUE_DAYS, dueDaysOf, type Opening } from '../src/cases/opening.js';
import type { StandsOn } from '../src/comparison/run-record.js';
import { openPackCases } from '../src/cases/pack-cases.js';
import type { PackCasesOptions } from '../src/cases/pack-opening.js';
import { writeFinishedRun, type FoundItem } from './finished-run.js';
import { inOrder } from './in-order.js';
import { daysBefore } from './world.js';

const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
export const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const NOW = new Date(daysBefore(-30));

const CELLS = { series: 'S', expiry: '2099-01-01', funding: '1', owner: '7707083893', place: 'P1' };
/** What the registry tells of an item. */
export const told = (item: string, over: object = {}) => ({
  ...{ item, container: null, answer: 'found', status: 'in_circulation', moved_at: Date.parse(daysBefore(60)) },
  ...CELLS,
  ...over,
});

type Row = { item: string } & Record<string, unknown>;
interface Found {
  findings?: FoundItem[];
  legs?: readonly ('stock' | 'record' | 'registry')[];
  places?: string[] | null;
  registry?: Row[];
  record?: Row[];
  disposals?: Row[];
  stock?: Row[];
  refused?: string[];
  answers?: { phase: string; unanswered?: string[] }[];
  unread?: true;
  standsOn?: StandsOn;
  inFlight?: string[];
  inFlightSince?: string;
  standing?: 'refused' | 'halted';
  containers?: boolean;
  namedOnly?: true;
  settings?: object;
}

type Over = Partial<Pick<PackCasesOptions, 'log' | 'earlier' | 'onWarning'>>;

/** A log with cases, and runs of packs that tell them. */
export class CaseWorld {
  private made = 0;

  private constructor(
    readonly db: TestDatabase,
    readonly folder: TemporaryFolder,
    readonly store: PostgresEventStore,
    readonly log: CaseLog,
  ) {}

  /** Documents `r-1` to `r-19` stand at log positions of their numbers, and `revised` at two. */
  static async open(): Promise<CaseWorld> {
    const [db, folder] = [await testDatabase(), await temporaryFolder()];
    await migrate(db.pool, [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
    await db.pool.query(
      `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
         document_sha256, channel, recorded_at)
       SELECT n, CASE WHEN n < 20 THEN 'r-' || n ELSE 'revised' END, 415, 'accepted', '', '', now(), '', 'api', now()
       FROM generate_series(1, 21) n`,
    );
    const store = new PostgresEventStore({ pool: db.pool });
    return new CaseWorld(db, folder, store, CaseWorld.logOf(db, store));
  }

  private static logOf({ pool: db }: TestDatabase, store: Pick<EventStore, 'append' | 'readStream'>): CaseLog {
    const installation = { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1' };
    return new CaseLog({ db, store, installation: { ...installation, profile: 'n' } });
  }

  async close(): Promise<void> {
    await this.store.close();
    await Promise.all([this.db.drop(), this.folder.remove()]);
  }

  /** A log whose appends are others. */
  logWith(append: EventStore['append']): CaseLog {
    return CaseWorld.logOf(this.db, { append, readStream: this.store.readStream.bind(this.store) });
  }

  /** A log that writes so many times, and dies. */
  dying(alive: number): CaseLog {
    let left = alive;
    return this.logWith(async (...args) => {
      if ((left -= 1) < 0) throw new Error('killed');
      return this.store.append(...args);
    });
  }

  /** The folder of a run of this day that found this. Without more it asked the registry about packs 1 and 2. */
  runOf(day: number, { registry = [told(pack(1)), told(pack(2))], ...over }: Found = {}, name?: string) {
    const all = registry.map((one) => ({ ...told(one.item), ...one }));
    return writeFinishedRun(join(this.folder.path, name ?? `run-${(this.made += 1)}`), {
      ...{ findings: [], record: [], moment: daysBefore(-day), registry: all, ...over },
    });
  }

  async openedOf(out: string, over: Over = {}): Promise<Opening> {
    const duck = { memoryMb: 200, threads: 1 };
    const dueDays = dueDaysOf(DEFAULT_DUE_DAYS, 'test');
    const log = CaseWorld.logOf(this.db, inOrder(this.store));
    try {
      return await openPackCases(out, {
        ...{ db: this.db.pool, log, dueDays, duck, actor: ACTOR, now: NOW, ...over },
      });
    } finally {
      await this.catchUp();
    }
  }

  async opened(day: number, found: Found = {}, over: Over = {}): Promise<Opening> {
    return this.openedOf(await this.runOf(day, found), over);
  }

  /** A command of a run of documents, or of a person. */
  async tell(command: CaseCommand): Promise<void> {
    await this.log.tell(command, { actor: ACTOR, id: `act-${(this.made += 1)}`, at: '' });
    await this.catchUp();
  }

  async rows(code: string): Promise<CaseRow[]> {
    const { rows } = await this.db.pool.query<CaseRow>(
      `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case WHERE code = $1 ORDER BY opened_position`,
      [code],
    );
    return rows;
  }

  async one(code: string): Promise<CaseRow> {
    const found = await this.rows(code);
    expect(found).toHaveLength(1);
    return found[0] as CaseRow;
  }

  /** The items in the rows that a case names, and whether they are carried. */
  async itemsOf({ state }: Pick<CaseRow, 'state'>, out: string): Promise<[string, boolean][]> {
    const { file = '', from = 0, to = 0 } = packsSeen(state).rows ?? {};
    const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(out, 'duck') });
    const found = await duck.rows<{ item: string; carried: boolean }>(
      `SELECT item, carried FROM read_parquet('${join(out, file)}', file_row_number = true)
       WHERE file_row_number >= ${from} AND file_row_number < ${to} ORDER BY item`,
    );
    await duck.close();
    return found.map(({ item, carried }) => [item, carried]);
  }

  /** A person takes these items out of a case, without more the one of a code; returns the id of the part. */
  async splitOff(code: string, items: string[], of?: CaseRow): Promise<string> {
    const { caseId, state } = of ?? (await this.one(code));
    const cause = partOf(caseId, items);
    const part = caseIdOf(code, cause);
    const count = items.length;
    await this.tell({ type: 'Split', caseId, part, items: cause.items, count });
    const { severity, dueAt } = state;
    const { rows, unjudged: _unjudged, older: _older, ...seen } = packsSeen(state);
    const ofPart = { ...seen, count, rows: { ...rows, from: 0, to: 0 } };
    await this.tell({ type: 'See', caseId: part, code, cause, severity, dueAt, seen: ofPart });
    return part;
  }

  private async catchUp(): Promise<void> {
    await catchUpProjection({ projection: casesProjection(), store: this.store, pool: this.db.pool });
  }
}
