import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { defined, systemClock } from '#kernel';
import { readStates } from '#segments';
import { writeDurably } from '#service';
import { runOf } from '../comparison/run-comparison.js';
import { refusedOf } from '../fetches/gather.js';
import { countExpected, lastContainerOf } from '../fetches/items.js';
import { fetchRegistrySide, type SideRequest, type TakenOver } from '../fetches/registry-side.js';
import { takeOver, type Fates } from '../fetches/take-over.js';
import { bucketFiles, MANIFEST, readSnapshot } from '../snapshots/manifest.js';
import { hasRead, SUSPENSIONS } from './caught-up.js';
import { readReading, writeReading, type ExportRead, type FullReading, type Reading } from './reading.js';
import { runsFolder, snapshotsFolder, type ComparingParts, type FileRun } from './run-folder.js';
import { containersBefore, standingFor, type Standing } from './standing.js';

interface Sides {
  run: FileRun;
  stock: string;
  record: string;
  documents: string;
}

/** `standing.json` of a run: when its reading began, and what was taken over. Written before the first call. */
interface Begun {
  at: string;
  standing?: Pick<Standing, 'run' | 'reading' | 'registry'>;
  fates?: Fates;
  whyFull?: string;
  /** Containers that are asked about: behind that of the run before, through the last one. */
  containers?: { behind?: string; through?: string };
}

const BEGUN_FILE = 'standing.json';
const TAKEN = 'taken';
/** Rows of an export that stand. */
const STANDING = 'standing';
const HOUR_MS = 3_600_000;

/**
 * Folder of the registry's side, and what reading it took; undefined where the run has none, or was given it without
 * an account. With one, the registry is asked about what the given rows do not settle. A run that something ended goes
 * on with what it had taken over.
 */
export async function registryReading(
  parts: ComparingParts,
  sides: Sides,
): Promise<{ registry: string | undefined; reading: Reading | undefined }> {
  const { run } = sides;
  if (run.account === null) return { registry: run.registry ?? undefined, reading: undefined };
  const own = join(runsFolder(parts.settings.folder), run.runId);
  const out = join(snapshotsFolder(parts.settings.folder), `registry-${run.runId}`);
  const before = await readReading(own);
  if (before !== undefined) return { registry: out, reading: before };
  return { registry: out, reading: await read(parts, sides, { own, out }) };
}

async function read(parts: ComparingParts, sides: Sides, { own, out }: { own: string; out: string }): Promise<Reading> {
  const { run, stock, record } = sides;
  const begun = await beginReading(parts, sides, own);
  const { pool, actor, schedule, onFetch, clock, settings, say } = parts;
  const { runId, account, way, reason } = run;
  if (account === null) throw new Error('a run without an account reads nothing');
  const duck = { memoryMb: settings.memoryMb, threads: settings.threads };
  const of = { stock, record, disposals: run.disposals ?? undefined };
  const temporary = join(own, 'expected');
  const expected = await countExpected({ stock, record }, { ...duck, temporary });
  await rm(temporary, { recursive: true, force: true });
  const { calls, containers } = await fetchRegistrySide(
    {
      ...{ fetchId: runId, account, way, reason, actor, expected, of, out },
      ...defined({
        freshHours: run.freshHours,
        taken: takenIn(own, { begun, run }),
        containers: containersIn(run, begun),
      }),
      ...defined({ given: await givenTo(run) }),
      standing: (exported) => keepStanding(parts, { ...sides, exported, own }),
    },
    { pool, duck, schedule, ...defined({ onProgress: onFetch, clock }) },
  );
  const made = await readingOf(parts, { begun, own, out, calls, runId });
  const { behind, through } = begun.containers ?? {};
  const asked = defined({ containers, containersBehind: behind, containersThrough: through });
  const reading = containers === 0 ? made : { ...made, ...asked };
  writeReading(own, reading);
  for (const folder of [TAKEN, STANDING]) await rm(join(own, folder), { recursive: true, force: true });
  say(sentenceOf(reading));
  return reading;
}

/** What the run asks about containers. A run that was asked for before there was this setting asks nothing. */
function containersIn(
  { settings: { containers, containersAsked = 0 } }: FileRun,
  begun?: Begun,
): SideRequest['containers'] {
  if (containers === false || containersAsked === 0) return undefined;
  const behind = begun?.containers?.behind;
  return { places: containers === true ? null : containers, most: containersAsked, ...defined({ behind }) };
}

/** Which containers a run asks about: those behind the last one that the run before asked about. */
async function containersAsked(
  { settings: { folder, memoryMb, threads } }: ComparingParts,
  { run, stock, begun, own }: Sides & { begun: Begun; own: string },
): Promise<Pick<Begun, 'containers'>> {
  const of = containersIn(run);
  if (of === undefined) return {};
  const behind = await containersBefore(folder, run);
  const except = takenIn(own, { begun, run })?.rows;
  const temporary = join(own, 'containers');
  const through = await lastContainerOf({ ...of, stock, behind, except }, { memoryMb, threads, temporary });
  await rm(temporary, { recursive: true, force: true });
  return { containers: defined({ behind, through }) };
}

async function givenTo({ registry }: FileRun): Promise<SideRequest['given']> {
  if (registry === null) return undefined;
  return { folder: registry, moment: (await readSnapshot(registry, 'registry')).moment };
}

const sentenceOf = ({ rows, takenOver, calls }: Reading): string =>
  `the registry took ${calls} calls: ${rows - takenOver} rows were asked, ${takenOver} taken over`;

/** What is decided before the first call stays, whatever ends the run behind it. */
async function beginReading(parts: ComparingParts, sides: Sides, own: string): Promise<Begun> {
  const file = join(own, BEGUN_FILE);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Begun;
  const { clock = systemClock } = parts;
  const rows = await decided(parts, { ...sides, at: clock.now(), out: join(own, TAKEN) });
  const begun: Begun = { ...rows, ...(await containersAsked(parts, { ...sides, begun: rows, own })) };
  writeDurably(file, JSON.stringify(begun, undefined, 2));
  return begun;
}

async function decided(parts: ComparingParts, sides: Sides & { at: Date; out: string }): Promise<Begun> {
  const { run, at, record, out } = sides;
  const begun = { at: at.toISOString() };
  // A snapshot that is given takes the place of an earlier run.
  const limits = run.registry === null ? (run.incremental ?? undefined) : undefined;
  if (limits === undefined) return begun;
  const recordAt = BigInt((await readStates(record)).at);
  const found = await standingFor(parts.settings.folder, { run, limits, at, recordAt });
  if (typeof found === 'string') return full(parts, begun, found);
  const fates = await takeRows(parts, {
    ...sides,
    standing: found,
    youngest: at.getTime() - limits.rowHours * HOUR_MS,
  });
  const all = Object.values(fates).reduce((sum, one) => sum + one, 0) - fates.left;
  // Names are asked for more slowly than all packs are listed, so that little would be saved.
  if (fates.taken * 2 < all) {
    await rm(out, { recursive: true, force: true });
    return full(parts, begun, `only ${fates.taken} of ${all} rows of run ${found.run} could be taken over`);
  }
  parts.say(`${fates.taken} of ${all} rows of the registry are taken over from run ${found.run}`);
  const { earlier: _, ...standing } = found;
  return { ...begun, standing, fates };
}

function full({ say }: ComparingParts, begun: Pick<Begun, 'at'>, whyFull: string): Begun {
  say(`the registry is asked about all: ${whyFull}`);
  return { ...begun, whyFull };
}

/** `export.json` of a run: rows of the export that it read, and what became of them. With it they are decided. */
const EXPORT_FILE = 'export.json';

/**
 * Folder of the rows of an export on which no finding would rest. About the others the live registry is asked. What is
 * decided stays, whatever ends the run behind it.
 */
async function keepStanding(
  parts: ComparingParts,
  {
    run,
    stock,
    record,
    documents,
    exported,
    own,
  }: Sides & { exported: { folder: string; moment: string }; own: string },
): Promise<string> {
  const { memoryMb, threads } = parts.settings;
  const out = join(own, STANDING);
  if (exportIn(own) !== undefined) return out;
  await rm(out, { recursive: true, force: true });
  const disposals = run.disposals ?? undefined;
  const now = await runOf({
    ...defined({ stock, record, documents, disposals }),
    registry: exported.folder,
    settings: run.settings,
  });
  // Whatever was decided about a series may be younger than the export.
  const decided = await seriesDecided(parts, { record, since: -1n });
  const fates = await takeOver({ now, youngest: new Date(0), decided }, { out, duck: { memoryMb, threads } });
  const { rows, refused: refusedHere, digest } = await readSnapshot(exported.folder, 'registry');
  const isGiven = run.registry !== null;
  const refused = isGiven ? refusedHere : linesIn(join(exported.folder, refusedOf(run.runId)));
  parts.say(`${fates.taken} of ${rows} rows of the export stand; the others are asked by name`);
  const told: ExportRead = {
    ...{ moment: exported.moment, rows, refused, stood: fates.taken },
    ...(isGiven ? { given: digest } : {}),
  };
  writeDurably(join(own, EXPORT_FILE), JSON.stringify(told, undefined, 2));
  return out;
}

const linesIn = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;

async function takeRows(
  parts: ComparingParts,
  {
    run,
    stock,
    record,
    documents,
    standing,
    youngest,
    out,
  }: Sides & { standing: Standing; youngest: number; out: string },
): Promise<Fates> {
  const { memoryMb, threads } = parts.settings;
  // What a crash has left was not decided on.
  await rm(out, { recursive: true, force: true });
  const { earlier, registry } = standing;
  const disposals = run.disposals ?? undefined;
  const sides = defined({ stock, record, documents, disposals, registry: registry.folder });
  const now = await runOf({ ...sides, settings: run.settings });
  const since = await seriesDecided(parts, { record, since: earlier.recordAt });
  return takeOver({ earlier, now, youngest: new Date(youngest), decided: since }, { out, duck: { memoryMb, threads } });
}

/**
 * Series whose suspension began, ended or changed behind a log position. It waits until all are there up to that of the
 * record: the next run looks from there on.
 */
async function seriesDecided(
  { pool, clock }: ComparingParts,
  { record, since }: { record: string; since: bigint },
): Promise<{ gtin: string; series: string }[]> {
  await hasRead(pool, SUSPENSIONS, BigInt((await readStates(record)).at), { clock });
  const { rows } = await pool.query<{ gtin: string; series: string }>(
    `SELECT DISTINCT one ->> 'gtin' AS gtin, one ->> 'series' AS series
     FROM suspension, jsonb_array_elements(matched) one WHERE position > $1`,
    [since],
  );
  return rows;
}

function takenIn(own: string, { begun, run }: { begun: Begun; run: FileRun }): TakenOver | undefined {
  const { standing, at } = begun;
  if (standing === undefined) return undefined;
  const overlapMs = (run.incremental?.overlapHours ?? 0) * HOUR_MS;
  const { at: before, exported } = standing.reading;
  const movedFrom = new Date(Date.parse(exported?.moment ?? before) - overlapMs);
  const known = join(snapshotsFolder(dirname(dirname(own))), `registry-${standing.run}`);
  return { rows: join(own, TAKEN), known, movedFrom, moment: at };
}

interface Read {
  begun: Begun;
  own: string;
  out: string;
  calls: number;
  runId: string;
}

async function readingOf(
  { settings: { memoryMb, threads } }: ComparingParts,
  { begun: { at, standing, fates, whyFull }, own, out, calls, runId }: Read,
): Promise<Reading> {
  const { digest, rows } = await readSnapshot(out, 'registry');
  const taken = standing === undefined ? undefined : join(own, TAKEN);
  const { oldestAt, takenOver } = await countedIn(out, taken, { memoryMb, threads, temporary: join(own, 'reading') });
  const ofFull: FullReading = standing?.reading.full ?? { run: runId, at, calls, rows };
  return {
    ...{ at, calls, rows, takenOver, oldestAt, full: ofFull, chain: chainOf(standing), digest },
    ...defined({
      fates,
      whyFull,
      exported: exportIn(own),
      standsOn: standing && { run: standing.run, registry: standing.registry.digest },
    }),
  };
}

const exportIn = (own: string): ExportRead | undefined =>
  existsSync(join(own, EXPORT_FILE))
    ? (JSON.parse(readFileSync(join(own, EXPORT_FILE), 'utf8')) as ExportRead)
    : undefined;

const chainOf = (standing: Begun['standing']): string[] =>
  standing === undefined ? [] : [...standing.reading.chain, standing.run];

/** A row that was taken over has the moment of its own answer; one that was asked since has another. */
async function countedIn(
  out: string,
  taken: string | undefined,
  options: Parameters<typeof Duck.open>[0],
): Promise<{ oldestAt: string | null; takenOver: number }> {
  const filesOf = (folder: string): string => parquet(bucketFiles(folder));
  const duck = await Duck.open(options);
  try {
    const [found] = await duck.rows<{ oldest: bigint | null; n: bigint }>(
      `SELECT (SELECT min(moment) FROM ${filesOf(out)}) AS oldest, ${
        taken === undefined || !existsSync(join(taken, MANIFEST))
          ? '0::BIGINT'
          : `(SELECT count(*) FROM ${filesOf(out)} SEMI JOIN ${filesOf(taken)} USING (item, moment))`
      } AS n`,
    );
    const oldest = found?.oldest ?? null;
    return { oldestAt: oldest === null ? null : new Date(Number(oldest)).toISOString(), takenOver: Number(found?.n) };
  } finally {
    await duck.close();
    await rm(options.temporary, { recursive: true, force: true });
  }
}
