import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOfLines, parquet, quoted, rowsDigest, type Duck } from '#duckdb';
import type { TypeKnowledge } from '#documents';
import { PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { foldContainers, type Carried } from './containers.js';
import { markUnusual, openDocuments, type Effects, type Movements } from './documents.js';
import { rankIn } from './keys.js';
import type { Meanings } from './meanings.js';
import { BUCKETS, inBucket, Packs } from './packs.js';
import { Unusual, type FoldedPack } from './unusual.js';
import { APPLIED, DOUBT, PLACE, STATUS, Walk } from './walk.js';

/** Which version of the fold has made a state. Raise it with each change that gives a pack another state, or none. */
export const FOLD = 3;

/** A state of all packs, as files. */
export interface States {
  at: string;
  /** FOLD of then; absent: of before it was written down. */
  fold?: number;
  packs: number;
  /** Over the digests of the buckets. */
  digest: Sha256;
  buckets: { file: string; packs: number; sha256: Sha256 }[];
}

/** Columns of the files, in the order of the canonical rows. */
export const STATE_COLUMNS = [
  ...(['item', 'gtin', 'status', 'place', 'container', 'known_from', 'uncertain'] as const),
  'part_left',
] as const;

/** Buckets at a time: while one is walked, DuckDB reads or writes the other. */
const LANES = 2;

/**
 * The state of every pack at a log position, a Parquet file for each of 16 buckets, sorted by the MD5 of the item.
 * DuckDB reads and writes; in between a walk over arrays of numbers decides.
 */
export async function foldStates(
  duck: Duck,
  { out, movements, at, types }: { movements: Movements; at: bigint; types: TypeKnowledge; out: string },
): Promise<States> {
  await mkdir(out, { recursive: true });
  // Each bucket reads all files of segments, which never change.
  await duck.run('SET parquet_metadata_cache = true');
  const effects = await openDocuments(duck, { movements, at, types });
  const carried = await foldContainers(duck, effects.meanings);
  markUnusual(effects, carried.isUnusual);
  const unusual = await Unusual.read(duck, { effects, carried, types });
  const lanes = Array.from({ length: LANES }, () => new Packs(effects));
  const arePlain = await areWordsPlain(duck, effects.meanings);
  const buckets: States['buckets'] = [];
  await duck.inLanes(LANES, BUCKETS, async (own, bucket, lane) => {
    const file = `packs-${bucket.toString(16)}.parquet`;
    const packs = lanes[lane] as Packs;
    packs.clear();
    await packs.read(own, { files: movements.packs, bucket });
    const walked = walkAll({ packs, effects, carried, unusual });
    const path = join(out, file);
    await writeBucket(own, { walked, meanings: effects.meanings, bucket, items: movements.items, file: path });
    const sha256 = await (arePlain
      ? digestOfLines(own, { file: path, line: LINE })
      : rowsDigest(own, { file: path, columns: STATE_COLUMNS }));
    buckets[bucket] = { file, packs: packs.count, sha256 };
  });
  const count = buckets.reduce((sum, one) => sum + one.packs, 0);
  return { at: String(at), fold: FOLD, packs: count, digest: digestOf(buckets), buckets };
}

const digestOf = (buckets: States['buckets']): Sha256 =>
  sha256Hex(buckets.map(({ packs, sha256 }, bucket) => `${bucket.toString(16)} ${packs} ${sha256}\n`).join(''));

/** Beside the files of a state. */
export const STATES_FILE = 'states.json';

/** @throws PedigreeError `not_found` when the folder holds no state of packs, or its digest does not fit. */
export async function readStates(folder: string): Promise<States> {
  const file = join(folder, STATES_FILE);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new PedigreeError('not_found', `${folder} holds no states: ${STATES_FILE} is missing`, { file });
  const states = JSON.parse(text) as States;
  if (digestOf(states.buckets) === states.digest) return states;
  throw new PedigreeError('not_found', `${file} was changed: its digest does not fit`, { file });
}

/** A row as CSV, where no word needs quotes. */
const LINE = `concat(${STATE_COLUMNS.join(", ',', ")})`;

/** Whether a row is the same text with and without quotes of CSV. An empty word has quotes, because NULL is empty. */
async function areWordsPlain(duck: Duck, { statuses, places }: Meanings): Promise<boolean> {
  const [odd] = await duck.rows<{ n: bigint }>(
    "SELECT count(*) AS n FROM container WHERE NOT regexp_full_match(name, '[A-Za-z0-9_-]+')",
  );
  return odd?.n === 0n && [...statuses.keys(), ...places.keys()].every((word) => /^[A-Za-z0-9_-]+$/.test(word));
}

/** The states of a bucket's packs, column by column. */
interface Walked {
  count: number;
  ids: BigUint64Array;
  status: Int32Array;
  place: Int32Array;
  container: Int32Array;
  /** Pairs of 32 bits. */
  knownFrom: Uint32Array<ArrayBuffer>;
  uncertain: Int32Array;
  /** What is left of packs of which parts were used: few of them. */
  partLeft: Map<bigint, string>;
}

function walkAll(fold: { packs: Packs; effects: Effects; carried: Carried; unusual: Unusual }): Walked {
  const { packs, effects, carried, unusual } = fold;
  const { count, ids } = packs;
  const column = (): Int32Array => new Int32Array(count);
  const walked: Walked = {
    count,
    ids: new BigUint64Array(ids.buffer, ids.byteOffset, count),
    ...{ status: column(), place: column(), container: column(), uncertain: column() },
    knownFrom: new Uint32Array(2 * count),
    partLeft: new Map(),
  };
  const walk = new Walk(packs, effects, carried);
  for (let pack = 0; pack < count; pack += 1) {
    walk.walk(pack);
    const folded = walk.isUnusual ? unusual.fold(walk, pack) : usual(walk, effects);
    write(walked, pack, { folded, positions: effects.knownFrom });
  }
  return walked;
}

function usual({ key, meaning, container }: Walk, { meanings }: Effects): FoldedPack {
  const codeOf = (codes: Int32Array, kind: number): number =>
    (key[kind] as number) < 0 ? 0 : (codes[meaning[kind] as number] as number);
  const applied = key[APPLIED] as number;
  return {
    status: codeOf(meanings.status, STATUS),
    place: codeOf(meanings.place, PLACE),
    container,
    rank: applied < 0 ? 0 : rankIn(applied),
    isUncertain: (key[DOUBT] as number) > (key[STATUS] as number),
  };
}

function write(
  walked: Walked,
  pack: number,
  { folded, positions }: { folded: FoldedPack; positions: Uint32Array },
): void {
  const { status, place, container, rank, isUncertain, partLeft } = folded;
  walked.status[pack] = status;
  walked.place[pack] = place;
  walked.container[pack] = container;
  walked.knownFrom[2 * pack] = positions[2 * rank] as number;
  walked.knownFrom[2 * pack + 1] = positions[2 * rank + 1] as number;
  walked.uncertain[pack] = Number(isUncertain);
  if (partLeft !== undefined) walked.partLeft.set(walked.ids[pack] as bigint, partLeft);
}

/** More words would be larger than the rows: a file has all of them in each of its row groups. */
const MOST_IN_FILE = 1_000;
const wordOf = (column: string, words: readonly string[]): string =>
  `nullif(w.${column}, '')${words.length > MOST_IN_FILE ? '::VARCHAR' : ''} AS ${column}`;

/** Joins the names and writes the file. */
async function writeBucket(
  duck: Duck,
  { walked, meanings, ...of }: { walked: Walked; meanings: Meanings; bucket: number; items: string[]; file: string },
): Promise<void> {
  const { count, ids, status, place, container, knownFrom, uncertain } = walked;
  const [statuses, places] = [
    ['', ...meanings.statuses.keys()],
    ['', ...meanings.places.keys()],
  ] as const;
  await duck.run(`CREATE TEMP TABLE walked (id UBIGINT, status status_word, place place_word, container INTEGER,
    known_from UBIGINT, uncertain INTEGER)`);
  const words = [
    { words: statuses, codes: status },
    { words: places, codes: place },
  ];
  await duck.append('walked', [ids, ...words, container, new BigUint64Array(knownFrom.buffer), uncertain], count);
  await writePartsLeft(duck, walked);
  await duck.run(`
    COPY (SELECT x.item, substr(x.item, 1, 14) AS gtin, ${wordOf('status', statuses)},
        ${wordOf('place', places)}, c.name AS container,
        nullif(w.known_from, 0)::BIGINT AS known_from, w.uncertain > 0 AS uncertain, l.part_left,
        (w.id >> 56)::UTINYINT AS run
      FROM walked w JOIN ${parquet(of.items)} x ON x.id = w.id AND ${inBucket(of.bucket)}
        LEFT JOIN container c ON c.id = w.container LEFT JOIN left_of_pack l ON l.id = w.id
      ORDER BY w.id) TO ${quoted(of.file)} (FORMAT parquet);
    DROP TABLE walked; DROP TABLE left_of_pack`);
  const [size] = await duck.rows<{ n: bigint }>(`SELECT count(*) AS n FROM ${parquet([of.file])}`);
  if (size?.n !== BigInt(count))
    throw new Error(`${count} packs have ${size?.n} names: two of them have the same first 16 digits of MD5`);
}

/** Most packs in one statement. */
const PACKS_AT_ONCE = 1_000;

async function writePartsLeft(duck: Duck, { partLeft }: Walked): Promise<void> {
  await duck.run('CREATE TEMP TABLE left_of_pack (id UBIGINT, part_left VARCHAR)');
  const rows = [...partLeft].map(([id, left]) => `(${id}, ${quoted(left)})`);
  for (let from = 0; from < rows.length; from += PACKS_AT_ONCE)
    await duck.run(`INSERT INTO left_of_pack VALUES ${rows.slice(from, from + PACKS_AT_ONCE).join(', ')}`);
}
