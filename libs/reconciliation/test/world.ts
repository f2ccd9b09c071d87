import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf, sha256Hex } from '#kernel';
import { Duck, quoted } from '#duckdb';
import { FOLD } from '#segments';
import { RUN } from '../src/snapshots/codes.js';
import { importSnapshot } from '../src/snapshots/import.js';
import { mappingOf } from '../src/snapshots/mapping.js';
import type { SnapshotKind } from '../src/snapshots/kinds.js';

export interface StockRow {
  item: string;
  place: string | null;
  series: string | null;
  expiry: string | null;
  state: string;
  twice: boolean;
  funding?: string | null;
  part?: string | null;
  owner?: string | null;
}
export interface RecordRow {
  item: string;
  status: string | null;
  place: string | null;
  container: string | null;
  uncertain: boolean;
  part_left?: string | null;
}
export interface RegistryRow {
  item: string;
  answer: string;
  status: string | null;
  place: string | null;
  container: string | null;
  series: string | null;
  expiry: string | null;
  funding?: string | null;
  owner?: string | null;
  moved_at: string | null;
  moment: string;
}
export interface DisposalRow {
  item: string;
  place?: string | null;
  receipt: string;
  moment: string;
}
export interface World {
  disposals: DisposalRow[];
  stock: StockRow[];
  record: RecordRow[];
  registry: RegistryRow[];
}

export const MOMENT = '2026-11-23T05:00:00.000Z';
export const daysBefore = (days: number): string => new Date(Date.parse(MOMENT) - days * 86_400_000).toISOString();
export const IN_STOCK_BOX = '046012345678900017';

/** A small generator: the same numbers for the same seed. */
export function chooser(seed: number): <T>(of: readonly T[]) => T {
  let state = seed >>> 0;
  return (of) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0;
    return of[((mixed ^ (mixed >>> 16)) >>> 0) % of.length] as (typeof of)[number];
  };
}

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const WRONG_GTIN = `0460123456789${(Number(GTIN.at(-1)) + 1) % 10}`;
const STATES = ['sellable', 'reserved', 'quarantine', 'in_transit'] as const;
/** The stock has rows of the first two alone. */
const PLACES = ['P1', 'P1', 'P2', 'P3', null] as const;
const BOXES = [null, null, IN_STOCK_BOX, '046012345678900024'] as const;
const STATUSES = [
  ...[
    'in_circulation',
    'in_circulation',
    'in_circulation',
    'in_partial_sale',
    'in_realization',
    'paused_circulation',
    'paused_circulation',
  ],
  ...['in_sale', 'in_sale', 'ofd_retail_error', 'expired', 'disposed', 'marked', 'new_word', null],
] as const;
const SERIES = ['AB1', 'AB1', '\u0410B1', 'CD2', null] as const;
const EXPIRIES = ['2027-01-31', '2027-01-31', '2026-11-22', '2026-11-23', null] as const;

/** Every leg says something else of an item, or nothing at all. Most items are of bucket a. */
// eslint-disable-next-line complexity -- what the registry does not have is null, value by value
export function worldOf(seed: number, items: number): World {
  const choose = chooser(seed);
  const world: World = { stock: [], record: [], registry: [], disposals: [] };
  for (let n = 0; world.stock.length < items; n += 1) {
    const item = `${n % 20 === 0 ? WRONG_GTIN : GTIN}${String(n).padStart(13, '0')}`;
    if (!/^(?:a|00)/.test(createHash('md5').update(item).digest('hex'))) continue;
    const status = choose(STATUSES);
    if (choose([true, true, false]))
      world.stock.push({
        ...{ item, place: choose(PLACES.slice(0, 3)), series: choose(SERIES), expiry: choose(EXPIRIES) },
        ...{ state: choose(STATES), twice: choose([0, 0, 0, 0, 1]) === 1 },
      });
    if (choose([true, true, false]))
      world.record.push({
        ...{ item, status: choose([status, choose(STATUSES), 'in_sale']), place: choose(PLACES) },
        ...{ container: choose(BOXES), uncertain: choose([false, false, false, true]) },
      });
    if (choose([true, true, false])) {
      const answer = choose(['found', 'found', 'found', 'found', 'archived', 'not_found', 'denied']);
      const isFound = answer === 'found';
      world.registry.push({
        ...{ item, answer, status: isFound ? status : null, place: isFound ? choose(PLACES) : null },
        ...{ container: isFound ? choose(BOXES) : null, series: isFound ? choose(SERIES) : null },
        expiry: isFound ? choose(EXPIRIES) : null,
        moved_at: isFound
          ? choose([daysBefore(2), daysBefore(12), daysBefore(40), daysBefore(400), daysBefore(-0.1), null])
          : null,
        moment: choose([MOMENT, MOMENT, MOMENT, daysBefore(3)]),
      });
    }
  }
  for (const { item } of [...world.record, ...world.registry])
    if (choose([0, 0, 0, 1]) === 1 && !world.disposals.some((one) => one.item === item)) {
      const [receipt, moment] = [choose(['1/1', '1/2']), choose([daysBefore(3), daysBefore(12)])];
      world.disposals.push({ item, receipt, moment, place: choose(PLACES) });
    }
  world.stock.push({ item: IN_STOCK_BOX, place: 'P1', series: null, expiry: null, state: 'sellable', twice: false });
  return world;
}

export interface Folders {
  stock: string;
  record: string;
  registry: string;
  disposals: string;
}

/** The legs of a world as the product makes them: snapshots by import, and states of packs. */
export async function writeWorld(folder: string, { stock, record, registry, disposals }: World): Promise<Folders> {
  const rows = stock.flatMap(({ twice, ...row }) => (twice ? [row, row] : [row]));
  return {
    stock: await snapshot(folder, 'stock', rows),
    record: await states(folder, record),
    registry: await snapshot(folder, 'registry', registry),
    disposals: await snapshot(folder, 'disposals', disposals),
  };
}

async function snapshot(folder: string, kind: SnapshotKind, rows: object[]): Promise<string> {
  const path = join(folder, `${kind}.ndjson`);
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const names = kind === 'stock' ? ['item', 'place', 'series', 'expiry', 'state'] : Object.keys(rows[0] ?? {});
  const columns = Object.fromEntries(names.map((name) => [name, name]));
  const out = join(folder, kind);
  await importSnapshot({
    ...{ kind, path, out, moment: MOMENT, duck: { memoryMb: 200, threads: 1 }, confirmed: true },
    mapping: mappingOf({ format: 'ndjson', columns }, kind),
  });
  return out;
}

/** As `pedigree states` writes them. */
export async function states(folder: string, record: (RecordRow & { known_from?: number })[]): Promise<string> {
  const out = join(folder, 'states');
  await mkdir(out);
  const text = join(folder, 'states.ndjson');
  await writeFile(text, record.map((row, n) => `${JSON.stringify({ known_from: n + 1, ...row })}\n`).join(''));
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(folder, 'duck') });
  const buckets = [];
  for (let bucket = 0; bucket < 16; bucket += 1) {
    const file = `packs-${bucket.toString(16)}.parquet`;
    const rows = `read_json(${quoted(text)}, format = 'newline_delimited', columns = {item: 'VARCHAR',
      status: 'VARCHAR',
      place: 'VARCHAR', container: 'VARCHAR', uncertain: 'BOOLEAN', known_from: 'BIGINT',
      part_left: 'VARCHAR'})
      WHERE substr(md5(item), 1, 1) = '${bucket.toString(16)}'`;
    await duck.run(`COPY (SELECT item, substr(item, 1, 14) AS gtin, * EXCLUDE (item),
        ${RUN} AS run FROM ${rows} ORDER BY md5(item))
      TO ${quoted(join(out, file))} (FORMAT parquet)`);
    buckets.push({ file, packs: 0, sha256: sha256Hex(String(bucket)) });
  }
  await duck.close();
  const digest = sha256Hex(buckets.map(({ packs, sha256 }, n) => `${n.toString(16)} ${packs} ${sha256}\n`).join(''));
  await writeFile(
    join(out, 'states.json'),
    JSON.stringify({ at: '1', fold: FOLD, packs: record.length, digest, buckets }),
  );
  return out;
}
