import { randomUUID } from 'node:crypto';
import type { EventStore } from '#event-store';
import { defined } from '#kernel';
import type { Pool } from '#postgres';
import { openCheckpoint } from '../checkpoint.js';
import { projectionCheckpoint, type Projection } from '../projection.js';
import { dropCopy, ensureCopy, fitsLive, settingsOf, type Copy, type CopyParts } from '../rebuild/copy-schema.js';
import { underRebuildLock } from '../rebuild/rebuild-beside.js';
import { inCopy } from '../rebuild/switch-over.js';
import { tablesOf } from '../rebuild/table-traits.js';
import { catchUpPage } from '../runner.js';
import type { Work } from '../page.js';
import {
  comparedTables,
  copyRange,
  copyRow,
  livePage,
  liveRow,
  removedTooEarly,
  tablesOfOlderRows,
  type ComparedTable,
  type LivePage,
  type RowDigest,
  type RowTexts,
} from './compared-table.js';

/** Up to which row of which table an earlier run has compared. */
export interface ComparePlace {
  table: string;
  after: string[];
}

/** A row of the live tables is not what log and evidence give. */
export interface RowDifference {
  table: string;
  key: string[];
  /** Only the columns that differ; none of a row that is not there. */
  expected: RowTexts;
  found: RowTexts;
  /** Where in the log both were compared. */
  position: bigint;
}

export interface CompareOptions extends Omit<CopyParts, 'model' | 'prefix'> {
  projection: Projection;
  store: EventStore;
  /** Before the model's name in the name of the copy's schema: plain, and not that of a rebuild. */
  prefix: string;
  signal?: AbortSignal;
  /** An earlier run that did not come to its end is gone on with, in its copy. Else the copy is built anew. */
  goesOn?: boolean;
  /** Where that run ended. Counts for nothing where its copy is gone. */
  from?: ComparePlace;
  onDifference: (difference: RowDifference) => Promise<void>;
  /**
   * What was worked since the last call; and up to where rows were compared, once they are. Whoever is to be slow waits
   * here.
   */
  onWork: (work: { bytes: number; rows: number; place?: ComparePlace }) => Promise<void>;
  /** Rows that are compared at a time. Default 2,000. */
  chunkRows?: number;
  /** Differences that are told of one table. Default 20; the others are counted. */
  mostTold?: number;
}

export interface Compared {
  /** False where the signal ended it, or another version made the live tables or their rows. */
  isWhole: boolean;
  /** Why nothing was compared, or not every table. */
  skipped?: string;
  rows: number;
  /** Differences that were found. */
  differences: number;
  /** How many of them were not told, because there were too many of their table. */
  untold: number;
}

const EVENTS_AT_ONCE = 500;
const CHUNK_ROWS = 2_000;
const MOST_TOLD = 20;
/** Rows of the copy that are looked at for one chunk of the live table: more of them are missing there anyway. */
const COPY_FACTOR = 4;
const MOST_BEGINNINGS = 3;
const LOCK_WAIT_MS = 5_000;

/** The live projection stands before the copy: a rebuild, or somebody's hand, set it back. */
class SetBack extends Error {}

/** The live projection says that it has read what the log does not have. */
class AheadOfLog extends Error {
  constructor(
    readonly position: bigint,
    readonly head: bigint,
  ) {
    super(`a checkpoint is at ${position}, and the log ends at ${head}`);
  }
}

/**
 * Builds a read model again from log and evidence, in tables of its own beside the live ones, and compares row by row.
 * The live tables are only read, in short statements: each reads some rows and the position of their projection from
 * one snapshot, then the copy is brought to exactly that position. So nothing that flows meanwhile makes a difference.
 * A row that differs is looked at once more, alone, before it is told. The copy is removed at the end, and kept where
 * the signal ends it. Throws PedigreeError `unavailable` where another process compares the same model.
 */
export function compareBeside(options: CompareOptions): Promise<Compared> {
  const { projection, pool, prefix } = options;
  const lock = { model: `${prefix}${projection.name}`, lockWaitMs: LOCK_WAIT_MS };
  return underRebuildLock(pool, lock, async () => {
    for (let begun = 1; ; begun += 1) {
      try {
        return await compareOnce(options, begun === 1 && options.goesOn === true);
      } catch (error) {
        if (!(error instanceof SetBack) || begun === MOST_BEGINNINGS) throw error;
      }
    }
  });
}

async function compareOnce(options: CompareOptions, goesOn: boolean): Promise<Compared> {
  const parts = { ...options, model: options.projection.name };
  const { pool, prefix, signal } = options;
  if (!goesOn) await dropCopy(pool, parts.model, prefix);
  const copy = await ensureCopy(parts);
  if (!(await fitsLive(parts, copy.schema, copy.live))) {
    await dropCopy(pool, parts.model, prefix);
    return { isWhole: false, skipped: 'another version made its tables', rows: 0, differences: 0, untold: 0 };
  }
  const inside = options.poolIn(settingsOf(copy));
  try {
    const comparison = new Comparison(options, copy, inside);
    await comparison
      .run(goesOn && copy.isResumed ? options.from : undefined)
      .catch((error) => comparison.tellAhead(error));
    const { rows, differences, untold, skipped } = comparison;
    if (signal?.aborted === true) return { isWhole: false, rows, differences, untold };
    await dropCopy(pool, parts.model, prefix);
    return { isWhole: skipped === undefined, ...defined({ skipped }), rows, differences, untold };
  } finally {
    await inside.end();
  }
}

class Comparison {
  rows = 0;
  differences = 0;
  untold = 0;
  /** Why some tables were not compared. */
  skipped: string | undefined;
  private told = 0;
  private readonly checkpoint: string;
  private readonly work: Work;

  constructor(
    private readonly options: CompareOptions,
    private readonly copy: Copy,
    private readonly inside: Pool,
  ) {
    const { projection } = options;
    this.checkpoint = projectionCheckpoint(projection);
    this.work = {
      pool: inside,
      name: this.checkpoint,
      handle: inCopy(projection, copy),
      holder: randomUUID(),
      leaseMs: 0,
      takesOver: true,
    };
  }

  async run(from: ComparePlace | undefined): Promise<void> {
    const { projection, pool } = this.options;
    const roots = (await tablesOf(this.inside, this.copy.schema)).filter(({ isPartition }) => !isPartition);
    const all = roots.map(({ name }) => name);
    const older = await tablesOfOlderRows(pool, this.copy.live, all);
    const reasons = [...older].map(([name, why]) => `${name}: ${why}`);
    if (reasons.length > 0) this.skipped = `${reasons.join('; ')}. Run pedigree rebuild ${projection.name}`;
    const names = all.filter((name) => !older.has(name));
    for (const table of await comparedTables(this.inside, this.copy.schema, {
      names,
      removal: projection.removal,
    })) {
      if (from !== undefined && table.name < from.table) continue;
      await this.compareTable(table, table.name === from?.table ? from.after : undefined);
    }
  }

  /** A checkpoint ahead of the log: nothing can be compared there. */
  async tellAhead(error: unknown): Promise<void> {
    if (!(error instanceof AheadOfLog)) throw error;
    const { position, head } = error;
    this.differences += 1;
    await this.options.onDifference({
      table: 'checkpoint',
      key: [this.checkpoint],
      expected: { position: `at most ${head}` },
      found: { position: String(position) },
      position: head,
    });
  }

  private get isEnded(): boolean {
    return this.options.signal?.aborted === true;
  }

  private async compareTable(table: ComparedTable, from: string[] | undefined): Promise<void> {
    const { chunkRows = CHUNK_ROWS, onWork } = this.options;
    this.told = 0;
    let after = from;
    while (!this.isEnded) {
      const page = await this.livePage(table, after, chunkRows);
      if (this.isEnded) return;
      if (after === undefined) await this.holdRemoval(table, page);
      const upTo = page.rows.length < chunkRows ? undefined : page.rows.at(-1)?.key;
      await this.compareChunk(table, page, { after, upTo });
      this.rows += page.rows.length;
      const bytes = page.rows.reduce((sum, row) => sum + row.bytes, 0);
      await onWork({ bytes, rows: page.rows.length, ...(upTo && { place: { table: table.name, after: upTo } }) });
      if (upTo === undefined) return;
      after = upTo;
    }
  }

  /** Rows of the live table, with the copy at the position of their snapshot. */
  private async livePage(table: ComparedTable, after: string[] | undefined, limit: number): Promise<LivePage> {
    const { pool } = this.options;
    const asked = { live: this.copy.live, checkpoint: this.checkpoint, after, limit };
    // The first time it takes long to get there, and the rows would be old by then.
    if (after === undefined) await this.advance((await livePage(pool, table, { ...asked, limit: 1 })).position);
    const page = await livePage(pool, table, asked);
    await this.advance(page.position);
    return page;
  }

  private async compareChunk(
    table: ComparedTable,
    { rows, removed }: LivePage,
    { after, upTo }: { after: string[] | undefined; upTo: string[] | undefined },
  ): Promise<void> {
    const limit = (this.options.chunkRows ?? CHUNK_ROWS) * COPY_FACTOR;
    const built = await copyRange(this.inside, table, { copy: this.copy.schema, after, upTo, removed, limit });
    const suspects = differingKeys(rows, built);
    for (const key of suspects) if (!this.isEnded) await this.confirm(table, key);
  }

  /** Looks once more at one row, on both sides and at one position; tells it where it differs. */
  private async confirm(table: ComparedTable, key: string[]): Promise<void> {
    const { pool, mostTold = MOST_TOLD, onDifference } = this.options;
    if (this.told >= mostTold) {
      this.differences += 1;
      this.untold += 1;
      return;
    }
    const asked = { live: this.copy.live, checkpoint: this.checkpoint, key };
    const { position, removed, row: found } = await liveRow(pool, table, asked);
    await this.advance(position);
    const expected = await copyRow(this.inside, table, { copy: this.copy.schema, key });
    const isRemoved = found === undefined && table.removal !== undefined && BigInt(key[0] as string) <= removed;
    if (isRemoved || JSON.stringify(found) === JSON.stringify(expected)) return;
    this.differences += 1;
    this.told += 1;
    await onDifference({ table: table.name, key, position, ...whereTheyDiffer(expected, found) });
  }

  private async holdRemoval(table: ComparedTable, { removed, position }: LivePage): Promise<void> {
    const early = await removedTooEarly(this.inside, table, { copy: this.copy.schema, removed });
    if (early === undefined || table.removal === undefined) return;
    this.differences += 1;
    const { recorded, record } = table.removal;
    await this.options.onDifference({
      table: record.table,
      key: [record.column],
      expected: { [record.column]: `before ${early.key}, which was recorded at ${early.recordedAt.toISOString()}` },
      found: { [record.column]: `${removed}: removed before it was ${recorded.leastAgeHours} hours old` },
      position,
    });
  }

  /** Brings the copy to exactly this position. */
  private async advance(upTo: bigint): Promise<void> {
    const { store, projection, signal, onWork } = this.options;
    let { position } = await openCheckpoint(this.inside, this.checkpoint, this.work.holder);
    if (position > upTo) throw new SetBack(`the checkpoint of ${projection.name} was set back`);
    while (position < upTo && !this.isEnded) {
      const page = await store.readAll(position, { limit: EVENTS_AT_ONCE, filter: projection.filter });
      const events = page.events.filter((event) => event.position <= upTo);
      const end = page.readUpTo < upTo ? page.readUpTo : upTo;
      if (page.readUpTo <= position) throw new AheadOfLog(upTo, position);
      const parts = { pool: this.inside, name: this.checkpoint, ...defined({ signal }) };
      position = await catchUpPage(parts, this.work, { from: position, events, upTo: end });
      await onWork({ bytes: events.length * EVENT_BYTES, rows: 0 });
    }
  }
}

/** About what one event and its evidence come to, where nobody counts. */
const EVENT_BYTES = 2_000;

/** Keys of rows that only one side has, or that differ. */
function differingKeys(live: RowDigest[], built: RowDigest[]): string[][] {
  const expected = new Map(built.map((row) => [JSON.stringify(row.key), row]));
  const suspects: string[][] = [];
  for (const row of live) {
    const id = JSON.stringify(row.key);
    if (expected.get(id)?.digest !== row.digest) suspects.push(row.key);
    expected.delete(id);
  }
  return [...suspects, ...[...expected.values()].map(({ key }) => key)];
}

/** Of two rows only the columns that differ. */
function whereTheyDiffer(expected: RowTexts, found: RowTexts): Pick<RowDifference, 'expected' | 'found'> {
  if (expected === undefined || found === undefined) return { expected, found };
  const names = Object.keys(expected).filter((name) => expected[name] !== found[name]);
  const only = (row: Record<string, string | null>): Record<string, string | null> =>
    Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
  return { expected: only(expected), found: only(found) };
}
