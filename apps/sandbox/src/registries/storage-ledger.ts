import type { Gtin } from '#kernel';
import type { Change, PackState } from '../packs/pack.js';
import { FINAL_STATUSES } from '../packs/trail.js';

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

/** The book of one product at one place. Ending = opening + income - outcome. */
export interface StorageRow extends Record<Column, number> {
  place: string;
  gtin: Gtin;
  /** What lay there before any document: planted packs and standing consignments. */
  opening: number;
  income: number;
  outcome: number;
}

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
  private readonly places = new Map<string, Map<Gtin, StorageRow>>();

  /** A pack that exists from the start, by planting or by a standing consignment. */
  opened(gtin: Gtin, state: PackState): void {
    if (isStored(state)) this.row(state.place, gtin).opening += 1;
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
      const row = this.row(before.place, gtin);
      row.outcome += 1;
      row[SOLD_AS[after.status] ?? (sold ? 'wholesale' : 'other')] += 1;
    }
    if (is) {
      const row = this.row(after.place, gtin);
      row.income += 1;
      row[incomeColumn(before, change, sold)] += 1;
    }
  }

  *rows(places: readonly string[]): Iterable<StorageRow> {
    for (const place of places) yield* this.places.get(place)?.values() ?? [];
  }

  private row(place: string, gtin: Gtin): StorageRow {
    let products = this.places.get(place);
    if (products === undefined) this.places.set(place, (products = new Map()));
    let row = products.get(gtin);
    if (row === undefined) {
      const columns = Object.fromEntries(STORAGE_COLUMNS.map((column) => [column, 0])) as Record<Column, number>;
      products.set(gtin, (row = { place, gtin, opening: 0, income: 0, outcome: 0, ...columns }));
    }
    return row;
  }
}

function incomeColumn(before: PackState | undefined, { docType }: Change, bought: boolean): Column {
  if (docType !== undefined && IMPORTS.has(docType)) return 'import';
  if (before === undefined) return 'production';
  return bought ? 'purchase_in_russia' : 'other';
}

/** A row as the interface shows it (public-facts 1.7). */
export const storageRecord = (row: StorageRow): Record<string, string | number> => ({
  storage_id: row.place,
  gtin: row.gtin,
  opening_balance: row.opening,
  total_income: row.income,
  total_outcome: row.outcome,
  ...Object.fromEntries(STORAGE_COLUMNS.map((column) => [column, row[column]])),
  ending_balance: row.opening + row.income - row.outcome,
});
