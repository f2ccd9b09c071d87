import type { Gtin } from '#kernel';
import type { Change, PackState } from '../packs/pack.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import type { Period } from './request.js';

/** Where packs come from and go to, as the virtual storage names it (public-facts 1.7). */
const STORAGE_COLUMNS = [
  'retail_sale',
  'discount_sale',
  'medical_use',
  'wholesale',
  'other',
  'production',
  'purchase_in_russia',
  'import',
] as const;
type Column = (typeof STORAGE_COLUMNS)[number];

interface Movement extends Record<Column, number> {
  income: number;
  outcome: number;
}

/** What moved of one product at one place in a time. Ending = opening + income - outcome. */
interface StorageRow extends Movement {
  place: string;
  gtin: Gtin;
  opening: number;
}

/** The book of one product at one place. */
interface Book {
  place: string;
  gtin: Gtin;
  /** What lay there before any document: planted packs and standing consignments. */
  planted: number;
  /** By the hour on the virtual clock: days begin at another hour in each zone. */
  hours: Map<number, Movement>;
}

const HOUR_MS = 3_600_000;
const ALWAYS: Period = { firstMs: -Infinity, lastMs: Infinity };

const SOLD_AS: Record<string, Column> = {
  in_sale: 'retail_sale',
  in_discount_prescription_sale: 'discount_sale',
  in_medical_use: 'medical_use',
};
const IMPORTS: ReadonlySet<number> = new Set([331, 332, 335]);

/**
 * Shipped goods stay on the book of their place until somebody else owns them: the registry asks who owns, not where a
 * lorry is.
 */
const isStored = (state: PackState | undefined): state is PackState =>
  state !== undefined && !FINAL_STATUSES.has(state.status);

/** The virtual storage: what documents did to each product at each place, kept as they are applied. */
export class StorageLedger {
  private readonly places = new Map<string, Map<Gtin, Book>>();

  /** A pack that exists from the start, by planting or by a standing consignment. */
  opened(gtin: Gtin, state: PackState): void {
    if (isStored(state)) this.book(state.place, gtin).planted += 1;
  }

  /** A pack went from one state to another; `before` is absent for one that a document registered. */
  changed(
    gtin: Gtin,
    { before, after, change }: { before: PackState | undefined; after: PackState; change: Change },
  ): void {
    const was = isStored(before);
    const is = isStored(after);
    if (was === is && (!was || before.place === after.place)) return;
    const sold = was && is && before.owner !== after.owner;
    if (was) {
      const moved = movementAt(this.book(before.place, gtin), change.atMs);
      moved.outcome += 1;
      moved[SOLD_AS[after.status] ?? (sold ? 'wholesale' : 'other')] += 1;
    }
    if (is) {
      const moved = movementAt(this.book(after.place, gtin), change.atMs);
      moved.income += 1;
      moved[incomeColumn(before, change, sold)] += 1;
    }
  }

  /** What moved at places in a period, to the hour, and what lay there when it began. */
  *rows(places: readonly string[], period = ALWAYS): Iterable<StorageRow> {
    for (const place of places) for (const book of this.places.get(place)?.values() ?? []) yield rowOf(book, period);
  }

  private book(place: string, gtin: Gtin): Book {
    let products = this.places.get(place);
    if (products === undefined) this.places.set(place, (products = new Map()));
    let book = products.get(gtin);
    if (book === undefined) products.set(gtin, (book = { place, gtin, planted: 0, hours: new Map() }));
    return book;
  }
}

const hourOf = (unixMs: number): number => Math.floor(unixMs / HOUR_MS);

const noMovement = (): Movement => ({
  income: 0,
  outcome: 0,
  ...(Object.fromEntries(STORAGE_COLUMNS.map((column) => [column, 0])) as Record<Column, number>),
});

function movementAt({ hours }: Book, unixMs: number): Movement {
  const hour = hourOf(unixMs);
  let movement = hours.get(hour);
  if (movement === undefined) hours.set(hour, (movement = noMovement()));
  return movement;
}

function rowOf({ place, gtin, planted, hours }: Book, { firstMs, lastMs }: Period): StorageRow {
  const row: StorageRow = { place, gtin, opening: planted, ...noMovement() };
  for (const [hour, movement] of hours) {
    if (hour < hourOf(firstMs)) row.opening += movement.income - movement.outcome;
    else if (hour <= hourOf(lastMs)) add(row, movement);
  }
  return row;
}

function add(row: StorageRow, movement: Movement): void {
  row.income += movement.income;
  row.outcome += movement.outcome;
  for (const column of STORAGE_COLUMNS) row[column] += movement[column];
}

function incomeColumn(before: PackState | undefined, { docType }: Change, bought: boolean): Column {
  if (docType !== undefined && IMPORTS.has(docType)) return 'import';
  if (before === undefined) return 'production';
  return bought ? 'purchase_in_russia' : 'other';
}

/** The numbers of a row, as the interface shows them (public-facts 1.7). */
export const storageRecord = (row: StorageRow): Record<string, string | number> => ({
  storage_id: row.place,
  gtin: row.gtin,
  opening_balance: row.opening,
  total_income: row.income,
  total_outcome: row.outcome,
  ...Object.fromEntries(STORAGE_COLUMNS.map((column) => [column, row[column]])),
  ending_balance: row.opening + row.income - row.outcome,
});
