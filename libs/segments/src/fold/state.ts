import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquet, quoted, rowsDigest, type Duck } from '#duckdb';
import type { TypeKnowledge } from '#documents';
import { PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { foldContainers, type Carried } from './containers.js';
import { openDocuments, type Effects, type Movements } from './documents.js';
import { rankIn } from './keys.js';
import { BUCKETS, inBucket, Packs } from './packs.js';
import { Unusual, type FoldedPack } from './unusual.js';
import { APPLIED, DOUBT, PLACE, STATUS, Walk } from './walk.js';

/** A state of all packs, as files. */
export interface States {
  at: string;
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

/**
 * The state of every pack at a log position, a Parquet file for each of 16 buckets, sorted by the MD5 of the item.
 * DuckDB reads and writes; in between a walk over arrays of numbers decides.
 */
export async function foldStates(
  duck: Duck,
  { out, movements, at, types }: { movements: Movements; at: bigint; types: TypeKnowledge; out: string },
): Promise<States> {
  await mkdir(out, { recursive: true });
  const effects = await openDocuments(duck, { movements, at, types });
  const carried = await foldContainers(duck, effects.meanings);
  const packs = new Packs(effects);
  const fold = { packs, effects, carried, unusual: await Unusual.read(duck, { packs, effects, carried, types }) };
  const buckets: States['buckets'] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const file = `packs-${bucket.toString(16)}.parquet`;
    packs.clear();
    await packs.read(duck, { files: movements.packs, bucket });
    await writeBucket(duck, { walked: walkAll(fold), bucket, items: movements.items, file: join(out, file) });
    const sha256 = await rowsDigest(duck, { file: join(out, file), columns: STATE_COLUMNS });
    buckets.push({ file, packs: packs.count, sha256 });
  }
  const count = buckets.reduce((sum, one) => sum + one.packs, 0);
  return { at: String(at), packs: count, digest: digestOf(buckets), buckets };
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

/** The states of a bucket's packs, column by column. */
interface Walked {
  count: number;
  ids: BigUint64Array;
  status: Int32Array;
  place: Int32Array;
  container: Int32Array;
  rank: Int32Array;
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
    ...{ status: column(), place: column(), container: column(), rank: column(), uncertain: column() },
    partLeft: new Map(),
  };
  const walk = new Walk(packs, effects, carried);
  for (let pack = 0; pack < count; pack += 1) {
    walk.walk(pack);
    if (walk.isUnusual) {
      const stays = walk.stays(pack, -1);
      write(walked, pack, unusual.fold(pack, stays));
      walked.container[pack] = walk.heldNow(stays);
    } else {
      write(walked, pack, usual(walk, effects));
      walked.container[pack] = walk.container;
    }
  }
  return walked;
}

function usual({ key, meaning }: Walk, { meanings }: Effects): FoldedPack {
  const codeOf = (codes: Int32Array, kind: number): number =>
    (key[kind] as number) < 0 ? 0 : (codes[meaning[kind] as number] as number);
  const applied = key[APPLIED] as number;
  return {
    status: codeOf(meanings.status, STATUS),
    place: codeOf(meanings.place, PLACE),
    rank: applied < 0 ? 0 : rankIn(applied),
    isUncertain: (key[DOUBT] as number) > (key[STATUS] as number),
  };
}

function write(walked: Walked, pack: number, { status, place, rank, isUncertain, partLeft }: FoldedPack): void {
  walked.status[pack] = status;
  walked.place[pack] = place;
  walked.rank[pack] = rank;
  walked.uncertain[pack] = Number(isUncertain);
  if (partLeft !== undefined) walked.partLeft.set(walked.ids[pack] as bigint, partLeft);
}

/** Joins the words and writes the file. */
async function writeBucket(
  duck: Duck,
  { walked, bucket, items, file }: { walked: Walked; bucket: number; items: string[]; file: string },
): Promise<void> {
  const { count, ids, status, place, container, rank, uncertain } = walked;
  await duck.run(`CREATE TABLE walked (id UBIGINT, status INTEGER, place INTEGER, container INTEGER, rank INTEGER,
    uncertain INTEGER)`);
  await duck.append('walked', [ids, status, place, container, rank, uncertain], count);
  await writePartsLeft(duck, walked);
  await duck.run(`
    COPY (SELECT x.item, substr(x.item, 1, 14) AS gtin, s.word AS status, p.word AS place, c.name AS container,
        d.known_from, w.uncertain > 0 AS uncertain, l.part_left
      FROM walked w JOIN ${parquet(items)} x ON x.id = w.id AND ${inBucket(bucket)}
        LEFT JOIN status_word s ON s.code = w.status LEFT JOIN place_word p ON p.code = w.place
        LEFT JOIN container c ON c.id = w.container LEFT JOIN document d ON d.rank = w.rank
        LEFT JOIN left_of_pack l ON l.id = w.id
      ORDER BY w.id) TO ${quoted(file)} (FORMAT parquet);
    DROP TABLE walked; DROP TABLE left_of_pack`);
  const [size] = await duck.rows<{ n: bigint }>(`SELECT count(*) AS n FROM ${parquet([file])}`);
  if (size?.n !== BigInt(count))
    throw new Error(`${count} packs have ${size?.n} names: two of them have the same first 16 digits of MD5`);
}

/** Most packs in one statement. */
const PACKS_AT_ONCE = 1_000;

async function writePartsLeft(duck: Duck, { partLeft }: Walked): Promise<void> {
  await duck.run('CREATE TABLE left_of_pack (id UBIGINT, part_left VARCHAR)');
  const rows = [...partLeft].map(([id, left]) => `(${id}, ${quoted(left)})`);
  for (let from = 0; from < rows.length; from += PACKS_AT_ONCE)
    await duck.run(`INSERT INTO left_of_pack VALUES ${rows.slice(from, from + PACKS_AT_ONCE).join(', ')}`);
}
