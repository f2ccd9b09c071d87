import { copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { defined, PedigreeError, systemClock } from '#kernel';
import { digestOfFile, Duck, FolderStore, quoted, type DuckOptions, type StoredFile } from '#duckdb';
import { createStaged, stage, writeBuckets } from './buckets.js';
import { checkRows, readColumns, type Checking } from './check.js';
import { WHOLE_ITEM, wrongCheckDigit } from './codes.js';
import { mustHaveColumns, sheetAsNdjson } from './excel.js';
import { columnsOf, type SnapshotKind } from './kinds.js';
import { csvShape, loadCsv, loadNdjson, loadParquet, PARQUET_ROWS, parquetShape, type CsvShape } from './load.js';
import {
  MANIFEST,
  REFUSED,
  REFUSED_ITEMS,
  SNAPSHOT_FORMAT,
  snapshotDigest,
  type Scope,
  type SnapshotManifest,
} from './manifest.js';
import type { Mapping } from './mapping.js';
import { newestBefore } from './newest-before.js';
import {
  ahead,
  digestOfSource,
  firstLineOf,
  isPlain,
  mustBeFile,
  TextSource,
  unchanged,
  type Chunk,
  type SourceFacts,
} from './source.js';

/** Rows that a file may have wrong, before the mapping is taken for wrong. */
const MOST_REFUSED = 100_000;
const MOST_PLACES = 1_000;
/** Chunks that are read at a time. */
const LANES = 2;
/** Rows that DuckDB may read otherwise than they were cut: each is found by halving, at some cost. */
const MOST_UNREAD = 1_000;
const UNREAD = 'the row cannot be read: its quotes are not those of CSV';

export interface SnapshotRequest {
  kind: SnapshotKind;
  /** The file. */
  path: string;
  mapping: Mapping;
  /** When it was true: ISO 8601 with zone. */
  moment: string;
  branch?: string;
  /** The folder that becomes the snapshot. */
  out: string;
  duck: Omit<DuckOptions, 'temporary'>;
  /** A person has said that an empty or much smaller stock is right. */
  confirmed?: boolean;
  /** Of the registry: only packs that were named were asked for. */
  namedOnly?: boolean;
  mostRefused?: number;
  /** Files that go into the snapshot as they are, beside its rows. */
  beside?: readonly string[];
  onProgress?: (done: { rows: number; part: number }) => void;
}

/**
 * Makes a snapshot of a file: checks each row, and writes the good ones as Parquet in buckets, sorted, with their
 * digests. Memory does not grow with the file. The folder appears whole or not at all.
 * @throws PedigreeError `invalid_parameter` for a file that does not fit its mapping, too many refused rows, or stock
 *   that is empty or has shrunk below half and is not confirmed.
 */
export async function importSnapshot(given: SnapshotRequest): Promise<SnapshotManifest> {
  const request = { ...given, moment: instantOf(given.moment) };
  await mustBeFile(request.path);
  const store = new FolderStore(dirname(request.out));
  const set = basename(request.out);
  if ((await stat(request.out).catch(() => undefined)) !== undefined)
    throw new PedigreeError('invalid_parameter', `${request.out} is there already; a snapshot is never changed`, {});
  const draft = await store.draft(set);
  const work = join(draft, 'work');
  const duck = await Duck.open({ ...request.duck, temporary: work });
  try {
    const job = new Job(request, duck, { draft, work });
    const manifest = await job.run();
    const doubt = await doubtOf(manifest, request.out);
    if (doubt !== undefined && request.confirmed !== true) {
      const why = `${doubt}${await job.refusedSaid(manifest.refused)}`;
      throw new PedigreeError('invalid_parameter', `${why}: is that right? then confirm it (--confirm)`, {});
    }
    await duck.close();
    await rm(work, { recursive: true, force: true });
    for (const path of request.beside ?? []) await copyFile(path, join(draft, basename(path)));
    const confirmed = doubt === undefined ? {} : { confirmed: true as const };
    const named = request.namedOnly === true ? { namedOnly: true as const } : {};
    const whole = { ...manifest, ...confirmed, ...named, files: await filesOf(draft) };
    await writeFile(join(draft, MANIFEST), `${JSON.stringify(whole, undefined, 2)}\n`);
    await store.keep(set, draft, { isNew: true });
    return whole;
  } catch (error) {
    await duck.close().catch(() => undefined);
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** @throws PedigreeError `invalid_parameter` for what is not an instant with its zone, on a day that there is. */
function instantOf(text: string): string {
  const [, day] = /^(\d{4}-\d{2}-\d{2})T.+(?:Z|[+-]\d{2}:\d{2})$/.exec(text) ?? [];
  // JavaScript takes 30 February for 2 March.
  const isInstant = z.iso.date().safeParse(day).success && !Number.isNaN(Date.parse(text));
  if (isInstant) return new Date(text).toISOString();
  throw new PedigreeError('invalid_parameter', `${text} is not a moment like 2026-01-31T08:00:00+03:00`, {
    field: 'moment',
  });
}

/** A date of a sheet is a date, and is written as ISO 8601. */
const withSheetDates = (mapping: Mapping): Mapping => ({
  ...mapping,
  dates: ['YYYY-MM-DD', ...mapping.dates.filter((form) => form !== 'YYYY-MM-DD')],
});

interface Folders {
  draft: string;
  work: string;
}

class Job {
  private readonly refusals: [number, string][] = [];
  private rows = 0;
  private unread = 0;
  private readonly bytes: Promise<number>;
  private readonly most: number;

  constructor(
    private readonly request: SnapshotRequest,
    private readonly duck: Duck,
    private readonly folders: Folders,
  ) {
    this.most = request.mostRefused ?? MOST_REFUSED;
    this.bytes = stat(request.path).then(({ size }) => size);
  }

  async run(): Promise<Omit<SnapshotManifest, 'files'>> {
    const { request, duck, folders } = this;
    const columns = readColumns(this.checking());
    await duck.run('CREATE TABLE refused (line BIGINT, reason VARCHAR, item VARCHAR)');
    await createStaged(duck, columns);
    const again = ['parquet', 'excel'].includes(request.mapping.format);
    const source = await unchanged(request.path, { again }, () => this.read());
    await this.tellRefusals(duck);
    const places = await this.places();
    const refused = await this.refused();
    const { buckets, duplicates } = await writeBuckets(duck, { folder: folders.draft, columns });
    await this.writeRefused();
    const { kind, moment, mapping } = request;
    const scope: Scope = { kind, moment, branch: request.branch ?? null, places };
    const rows = buckets.reduce((sum, one) => sum + one.rows, 0);
    return {
      ...{ format: SNAPSHOT_FORMAT, ...scope, rows, ...(await this.counts()), refused, duplicates },
      source: { name: basename(request.path), ...source },
      ...{ mapping, importedAt: systemClock.now().toISOString(), digest: snapshotDigest(scope, buckets), buckets },
    };
  }

  private read(): Promise<SourceFacts> {
    return this.request.mapping.format === 'parquet' ? this.readParquet() : this.readText();
  }

  /** What is read in one lane. */
  private checking(lane = 0): Checking {
    const { mapping, moment, branch, kind } = this.request;
    return {
      columns: columnsOf(kind),
      mapping: mapping.format === 'excel' ? withSheetDates(mapping) : mapping,
      moment,
      branch,
      file: join(this.folders.work, `codes-${lane}.csv`),
    };
  }

  private async readText(): Promise<SourceFacts> {
    const { mapping, path } = await this.text();
    const columns = columnsOf(this.request.kind);
    const refuse = (line: number, reason: string): void => {
      if (this.refusals.push([line, reason]) > this.most) throw this.tooMany([{ line, reason }]);
    };
    const source = new TextSource({ path, mapping, folder: this.folders.work, refuse });
    let shape: CsvShape | undefined;
    const load = async (duck: Duck, chunk: Chunk, lane: number): Promise<void> => {
      if (mapping.format === 'csv')
        shape ??= csvShape(mapping, defined({ header: source.header, first: source.first }));
      const isLoaded =
        shape === undefined
          ? await loadNdjson(duck, chunk, { mapping, columns })
          : await loadCsv(duck, chunk, { shape, mapping, columns });
      if (isLoaded) await this.take(duck, chunk.bytes, lane);
      // DuckDB takes a record for two, or two for one: smaller chunks show which.
      else if (!isPlain(chunk) && chunk.ends.length === 1) this.refuseUnread(refuse, await firstLineOf(chunk));
      else for await (const part of source.finer(chunk)) await load(duck, part, lane);
      await rm(chunk.file, { force: true });
    };
    await this.duck.takenInLanes(LANES, ahead(source.chunks()), load);
    if (mapping.format === 'csv' && shape === undefined && source.header !== undefined)
      csvShape(mapping, { header: source.header });
    return this.request.mapping.format === 'excel' ? digestOfSource(this.request.path) : source.facts();
  }

  private refuseUnread(refuse: (line: number, reason: string) => void, line: number): void {
    refuse(line, UNREAD);
    if ((this.unread += 1) > MOST_UNREAD)
      throw new PedigreeError(
        'invalid_parameter',
        `line ${line}: more than ${MOST_UNREAD} rows cannot be read, so the mapping is wrong: is quote right?`,
        { line },
      );
  }

  /** What is read as text: the file, or the rows of its sheet. */
  private async text(): Promise<{ path: string; mapping: Mapping }> {
    const { path, mapping } = this.request;
    if (mapping.format !== 'excel') return { path, mapping };
    const out = join(this.folders.work, 'sheet.ndjson');
    const { columns } = await sheetAsNdjson(path, { out, mapping });
    mustHaveColumns(columns, mapping.columns);
    return { path: out, mapping: { ...mapping, format: 'ndjson', encoding: 'utf-8' } };
  }

  private async readParquet(): Promise<SourceFacts> {
    const { mapping, path, kind } = this.request;
    const { rows, at } = await parquetShape(this.duck, path, mapping);
    const facts = await digestOfSource(path);
    await this.duck.inLanes(LANES, Math.ceil(rows / PARQUET_ROWS), async (duck, piece, lane) => {
      const from = piece * PARQUET_ROWS;
      await loadParquet(duck, { path, from }, { at, columns: columnsOf(kind) });
      await this.take(duck, Math.floor((facts.bytes * Math.min(rows, from + PARQUET_ROWS)) / rows), lane);
    });
    return facts;
  }

  /** The rows of `cell`: checked, staged, and what is wrong remembered. */
  private async take(duck: Duck, bytes: number, lane: number): Promise<void> {
    const checking = this.checking(lane);
    if (await checkRows(duck, checking))
      await duck.run('INSERT INTO refused SELECT line, reason, item FROM checked WHERE reason IS NOT NULL');
    await stage(duck, readColumns(checking));
    const [seen] = await duck.rows<{ rows: bigint }>('SELECT count(*) AS rows FROM cell');
    this.rows += Number(seen?.rows);
    await this.tellRefusals(duck);
    this.request.onProgress?.({ rows: this.rows, part: bytes / Math.max(1, await this.bytes) });
  }

  private async tellRefusals(duck: Duck): Promise<void> {
    const told = this.refusals.splice(0);
    for (let at = 0; at < told.length; at += 1_000) {
      const values = told.slice(at, at + 1_000).map(([line, reason]) => `(${line}, ${quoted(reason)})`);
      await duck.run(`INSERT INTO refused (line, reason) VALUES ${values.join(', ')}`);
    }
    await this.mustBeFew(duck);
  }

  private async mustBeFew(duck: Duck): Promise<void> {
    if ((await this.refused()) > this.most) throw this.tooMany(await firstRefused(duck));
  }

  /** How many rows were refused, and why the first ones: behind a sentence about the file. */
  async refusedSaid(refused: number): Promise<string> {
    if (refused === 0) return '';
    const rows = refused === 1 ? '1 row is refused' : `${refused} rows are refused`;
    return `; ${rows}: ${linesSaid(await firstRefused(this.duck))}`;
  }

  private tooMany(first: RefusedLine[]): PedigreeError {
    const words = linesSaid(first);
    return new PedigreeError(
      'invalid_parameter',
      `more than ${this.most} rows are refused, so the mapping is wrong: ${words}`,
      { line: Number(first[0]?.line) },
    );
  }

  private async refused(): Promise<number> {
    const [counted] = await this.duck.rows<{ rows: bigint }>('SELECT count(*) AS rows FROM refused');
    return Number(counted?.rows);
  }

  /** All refused rows with line and reason, by line, and those of items that several rows name. */
  private async writeRefused(): Promise<void> {
    await this.mustBeFew(this.duck);
    await this.duck.run(`COPY (SELECT line, reason FROM refused ORDER BY line, reason)
      TO ${quoted(join(this.folders.draft, REFUSED))} (FORMAT json)`);
    const [known] = await this.duck.rows<{ items: bigint }>('SELECT count(item) AS items FROM refused');
    if (known === undefined || known.items === 0n) return;
    await this.duck.run(`COPY (SELECT DISTINCT item FROM refused WHERE item IS NOT NULL ORDER BY item)
      TO ${quoted(join(this.folders.draft, REFUSED_ITEMS))} (FORMAT parquet)`);
  }

  private async counts(): Promise<{ containers: number; wrongCheckDigits: number }> {
    const [counted] = await this.duck.rows<{ containers: bigint; wrong: bigint }>(
      `SELECT count(*) FILTER (length(digits) = 18) AS containers,
        count(*) FILTER (CASE length(digits) WHEN 18 THEN ${wrongCheckDigit('digits', 18)}
          ELSE ${wrongCheckDigit('digits', 14)} END) AS wrong
       FROM (SELECT ${WHOLE_ITEM} AS digits FROM (
         SELECT DISTINCT head, CASE WHEN strlen(serial) = 4 THEN serial ELSE '' END AS serial FROM staged))`,
    );
    return { containers: Number(counted?.containers), wrongCheckDigits: Number(counted?.wrong) };
  }

  /**
   * Places of the rows, sorted; null where a row has none, or there are too many to list. Of a stock whose rows name
   * theirs, one that names none would have the file speak of all places: such rows are refused.
   */
  private async places(): Promise<string[] | null> {
    const { kind, branch } = this.request;
    const place = readColumns(this.checking()).find(({ name }) => name === 'place') ?? { name: 'NULL' };
    const rows = await this.duck.rows<{ place: string | null }>(
      `SELECT DISTINCT ${('constant' in place ? place.constant : undefined) ?? place.name} AS place FROM others
        WHERE other IN (SELECT DISTINCT other FROM staged) ORDER BY 1 NULLS FIRST LIMIT ${MOST_PLACES + 2}`,
    );
    const named = rows.flatMap(({ place }) => place ?? []);
    if (named.length < rows.length) {
      if (kind !== 'stock' || named.length === 0) return null;
      await this.refusePlaceless();
    }
    if (named.length > MOST_PLACES) return null;
    // A file of a branch that has nothing speaks of that branch.
    if (named.length === 0 && branch !== undefined) return [branch];
    return named.sort();
  }

  private async refusePlaceless(): Promise<void> {
    const placeless = 'other IN (SELECT other FROM others WHERE place IS NULL)';
    await this.duck.run(`INSERT INTO refused
        SELECT line, 'place: is empty, and other rows name theirs', ${WHOLE_ITEM} FROM staged WHERE ${placeless};
      DELETE FROM staged WHERE ${placeless}`);
    await this.mustBeFew(this.duck);
  }
}

interface RefusedLine {
  line: bigint | number;
  reason: string;
}

const firstRefused = (duck: Duck): Promise<RefusedLine[]> =>
  duck.rows('SELECT line, reason FROM refused ORDER BY line, reason LIMIT 3');

const linesSaid = (lines: readonly RefusedLine[]): string =>
  lines.map(({ line, reason }) => `line ${line}: ${reason}`).join('; ');

async function filesOf(draft: string): Promise<StoredFile[]> {
  const names = (await readdir(draft)).sort();
  return Promise.all(names.map(async (name) => ({ name, ...(await digestOfFile(join(draft, name))) })));
}

/** Whether it is empty, or has less than half the rows of the newest snapshot before it of one of its places. */
async function doubtOf(
  { kind, rows, branch, places, moment }: Omit<SnapshotManifest, 'files'>,
  out: string,
): Promise<string | undefined> {
  if (rows === 0) return 'the file has no row that can be used';
  // What the registry told is as it is.
  if (kind === 'registry') return undefined;
  const before = await newestBefore(out, { kind, branch, places, moment });
  if (before === undefined || rows * 2 >= before.rows) return undefined;
  return `the file has ${rows} rows, and the snapshot of ${before.moment} has ${before.rows}`;
}
