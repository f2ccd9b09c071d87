import {
  MAX_STOPPED_PACKS,
  MAX_STOPPED_SERIES,
  MAX_STOPPED_SUSPENSIONS,
  seriesKey,
  type StoppedSeries,
  type SuspensionFinding,
} from '#domain';
import type { DocumentFacts } from '#documents';
import { canonicalJson, sha256Hex } from '#kernel';
import type { Queryable } from '#postgres';
import { JOIN_STAY } from '../pack-state/now.js';
import type { InForce } from './in-force.js';

const SGTIN_LENGTH = 27;
const SSCC_LENGTH = 18;
const GTIN_LENGTH = 14;

/** What is asked about: what a document names, and what it says itself of series. */
export type NamedPacks = Pick<DocumentFacts, 'items' | 'series'>;

/**
 * Packs that lie in these containers now, in any number of steps. $2: products of which packs are asked for. Beside
 * them each container, of these or in these, in which nothing lies as far as our record tells.
 */
const INSIDE = `WITH RECURSIVE inside AS (
    SELECT named AS container, named COLLATE "C" AS item FROM unnest($1::text[]) AS given (named)
    UNION
    SELECT i.container, s.item FROM inside i JOIN pack_state s ON s.container = i.item ${JOIN_STAY}
    WHERE length(i.item) = ${SSCC_LENGTH} AND y.ended_position IS NULL
  ) SELECT i.container, i.item, s.series FROM inside i JOIN pack_state s ON s.item = i.item
  WHERE length(i.item) = ${SGTIN_LENGTH} AND left(i.item, ${GTIN_LENGTH}) = ANY ($2::text[])
  UNION ALL
  SELECT i.container, i.item, NULL FROM inside i WHERE length(i.item) <> ${SGTIN_LENGTH} AND NOT EXISTS (
    SELECT FROM pack_state s ${JOIN_STAY} WHERE s.container = i.item AND y.ended_position IS NULL)`;
const SERIES = `SELECT item, series FROM pack_state WHERE item = ANY ($1::text[])`;

interface Pack {
  item: string;
  gtin: string;
  /** null: nobody told. */
  series: string | null;
}

/**
 * The packs of a document that are of suspended series, by itself or by containers whose content is known; and those of
 * which it cannot be told. What our record says of series and contents counts before what the document says.
 */
export async function packsStopped(db: Queryable, inForce: InForce, document: NamedPacks): Promise<SuspensionFinding> {
  if (inForce.gtins.size === 0) return { series: [], packCount: 0, knownAt: String(inForce.knownAt) };
  const named = [...new Map(document.items.map((item) => [item.id, item])).values()];
  const loose = named.filter(({ id }) => id.length === SGTIN_LENGTH && inForce.gtins.has(gtinOf(id)));
  const containers = named.filter(({ id }) => id.length !== SGTIN_LENGTH);
  const filled = new Set(document.items.flatMap(({ into }) => into ?? []));
  const inside = await insideOf(db, containers, { filled, inForce });
  const packs = [
    ...(await seriesOf(
      db,
      loose.map(({ id }) => id),
    )),
    ...inside.packs,
  ].map((pack) => ({ ...pack, series: pack.series ?? saidOf(document, pack) }));
  return findingOf(inForce, [...new Map(packs.map((pack) => [pack.item, pack])).values(), ...inside.lots], inside);
}

const gtinOf = (sgtin: string): string => sgtin.slice(0, GTIN_LENGTH);

async function seriesOf(db: Queryable, items: string[]): Promise<Pack[]> {
  if (items.length === 0) return [];
  const { rows } = await db.query<Pack>({ name: 'series-of-packs', text: SERIES, values: [items] });
  const known = new Map(rows.map(({ item, series }) => [item, series]));
  return items.map((item) => ({ item, gtin: gtinOf(item), series: known.get(item) ?? null }));
}

interface Inside {
  packs: Pack[];
  /** Series that the document says to be in a container of which our record does not know all. */
  lots: Pack[];
  /** Containers of which nobody tells what is in them, also in others. */
  unknown: string[];
}

/** A container that the document itself fills tells its content: what goes into it is named beside it. */
async function insideOf(
  db: Queryable,
  containers: NamedPacks['items'],
  { filled, inForce }: { filled: ReadonlySet<string>; inForce: InForce },
): Promise<Inside> {
  if (containers.length === 0) return { packs: [], lots: [], unknown: [] };
  const values = [containers.map(({ id }) => id), [...inForce.gtins]];
  const { rows } = await db.query<Pack & { container: string }>({ name: 'packs-inside', text: INSIDE, values });
  const empty = rows.filter(({ item }) => item.length !== SGTIN_LENGTH && !filled.has(item));
  const told = new Map(containers.map(({ id, lots = [] }) => [id, lots]));
  const lotsIn = (container: string) => told.get(container) ?? [];
  return {
    packs: rows
      .filter(({ item }) => item.length === SGTIN_LENGTH)
      .map(({ item, series }) => ({ item, gtin: gtinOf(item), series })),
    lots: [...new Set(empty.map(({ container }) => container))].flatMap((id) =>
      lotsIn(id).map(({ gtin, series }) => ({ item: id, gtin, series })),
    ),
    unknown: [...new Set(empty.filter((one) => lotsIn(one.container).length === 0).map(({ item }) => item))],
  };
}

/** What the document says of a pack's series; null where that is nothing, or not one thing. */
function saidOf({ series: told = [] }: NamedPacks, { item, gtin }: Pack): string | null {
  const fitting = told.filter((one) => (one.item ?? item) === item && (one.gtin ?? gtin) === gtin);
  const [first, ...others] = new Set(fitting.flatMap(({ series }) => series ?? []));
  return first !== undefined && others.length === 0 ? first : null;
}

function findingOf(inForce: InForce, packs: Pack[], { unknown: containers }: Inside): SuspensionFinding {
  const unknown = [...containers, ...packs.flatMap(({ item, series }) => (series === null ? [item] : []))].sort();
  const bySeries = new Map<string, StoppedSeries>();
  // In one order: the same packs make the same finding.
  for (const { item, gtin, series } of packs.toSorted((a, b) => (a.item < b.item ? -1 : 1))) {
    const suspensions = series === null ? [] : inForce.of(gtin, series);
    if (series === null || suspensions.length === 0) continue;
    const key = seriesKey({ gtin, series });
    const before = bySeries.get(key) ?? { gtin, series, suspensions, packs: [], packCount: 0 };
    const first = before.packs.length < MAX_STOPPED_PACKS ? [...before.packs, item] : before.packs;
    bySeries.set(key, { ...before, packs: first, packCount: before.packCount + 1 });
  }
  const found = [...bySeries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return {
    series: found.slice(0, MAX_STOPPED_SERIES),
    ...(found.length > MAX_STOPPED_SERIES ? { suspensions: suspensionsOfAll(found) } : {}),
    packCount: found.reduce((sum, one) => sum + one.packCount, 0),
    ...(unknown.length === 0
      ? {}
      : { unknown: { items: unknown.slice(0, MAX_STOPPED_PACKS), itemCount: unknown.length } }),
    knownAt: String(inForce.knownAt),
  };
}

/** Those that are not named count together: who overrides them overrides these, and none that comes to them. */
function suspensionsOfAll(found: StoppedSeries[]): string[] {
  const all = [...new Set(found.flatMap(({ suspensions }) => suspensions))].sort();
  const rest = all.slice(MAX_STOPPED_SUSPENSIONS);
  const named = all.slice(0, MAX_STOPPED_SUSPENSIONS);
  return rest.length === 0 ? named : [...named, `others-${sha256Hex(canonicalJson(rest))}`];
}
