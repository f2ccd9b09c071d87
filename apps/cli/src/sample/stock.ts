import type { SampleCommand } from './day.js';

interface StockRow {
  item: string;
  place: string;
}

interface Disposal extends StockRow {
  receipt: string;
}

/** Differences that are put into the stock of the day on purpose, by the code that must be found. */
export type Planted = Record<string, string[]>;

export interface SampleStock {
  rows: StockRow[];
  disposals: Disposal[];
  planted: Planted;
}

/** Packs of each planted difference. */
const OF_EACH = 3;
/** Serial numbers from here on belong to no pack of the day. */
const UNKNOWN_INDEX = 98_000;

/**
 * The stock as the ERP has it after the day: what arrived, less what left, was sold or was written off. A few rows are
 * wrong on purpose, in the ways in which an ERP really goes wrong. Everything else agrees.
 */
export function sampleStock(day: readonly SampleCommand[]): SampleStock {
  const shelf = shelfAfter(day);
  const planted: Planted = {};
  const plant = (code: string, items: readonly string[]): readonly string[] => (planted[code] = [...items]);
  const boxed = shelf.boxed();
  const free = [...shelf.places.keys()].filter((item) => !boxed.has(item));
  const some = (): string[] => free.splice(Math.floor(free.length / 3), OF_EACH);
  const disposals = [...shelf.disposals];

  for (const item of plant('missing_locally', some())) shelf.places.delete(item);
  for (const item of plant('sold_here_open_in_registry', some())) {
    disposals.push({ item, place: shelf.placeOf(item), receipt: 'till-1' });
    shelf.places.delete(item);
  }
  const places = [...new Set(shelf.places.values())];
  for (const item of plant('owner_or_branch_mismatch', places.length > 1 ? some() : []))
    shelf.places.set(item, places.find((place) => place !== shelf.placeOf(item)) ?? '');
  const sold = shelf.disposals.filter((one) => one.receipt !== '').slice(0, OF_EACH);
  plant(
    'sold_in_registry_in_stock_here',
    sold.map(({ item }) => item),
  );
  for (const { item, place } of sold) shelf.places.set(item, place);
  const [first = ''] = free;
  const unknown = Array.from({ length: OF_EACH }, (_, n) => `${first.slice(0, -5)}${UNKNOWN_INDEX + n}`);
  for (const item of plant('unknown_serial', unknown)) shelf.places.set(item, shelf.placeOf(first));
  const rows = [...shelf.places].map(([item, place]) => ({ item, place }));
  const twice = plant('duplicate_locally', some()).map((item) => ({ item, place: shelf.placeOf(item) }));
  return {
    rows: [...rows, ...twice],
    disposals: disposals.filter(({ item }) => !shelf.places.has(item)),
    planted,
  };
}

/** What lies where after the day, by what the registry took of its documents. */
function shelfAfter(day: readonly SampleCommand[]): Shelf {
  const shelf = new Shelf();
  for (const { document, expected } of day) if (expected === 'accepted' || expected === 'partial') shelf.take(document);
  return shelf;
}

/** SGTINs and SSCCs that a document of the day names. */
export const packsIn = (document: SampleCommand['document']): string[] =>
  (JSON.stringify(document).match(/"(\d{18}|\d{14}[A-Z0-9]{13})"/g) ?? []).map((text) => text.slice(1, -1));

class Shelf {
  readonly places = new Map<string, string>();
  readonly disposals: Disposal[] = [];
  private readonly contents = new Map<string, string[]>();

  take(document: SampleCommand['document']): void {
    const items = this.itemsOf(document);
    switch (document.action_id) {
      case 701:
        for (const item of items) this.places.set(item, document.subject_id as string);
        break;
      case 431:
        for (const item of items) this.places.set(item, document['receiver_id'] as string);
        break;
      case 415:
        for (const item of items) this.places.delete(item);
        break;
      case 511:
      case 552:
        for (const item of items) this.dispose(item, document.action_id === 511 ? 'till' : '');
        break;
      case 911:
        this.contents.set(document['sscc'] as string, items);
        break;
      case 912:
        for (const container of document['sscc'] as string[]) this.contents.delete(container);
        break;
      default:
        throw new Error(`the sample day has a document ${document.action_id}, which its stock does not know`);
    }
  }

  boxed(): Set<string> {
    return new Set([...this.contents.values()].flat());
  }

  placeOf(item: string): string {
    const place = this.places.get(item);
    if (place === undefined) throw new Error(`${item} is not on the shelf`);
    return place;
  }

  private dispose(item: string, receipt: string): void {
    this.disposals.push({ item, place: this.placeOf(item), receipt });
    this.places.delete(item);
  }

  /** Packs that a document names, by themselves or by their container, as far as they are on the shelf or arrive. */
  private itemsOf(document: SampleCommand['document']): string[] {
    const items = packsIn(document).flatMap((one) => this.contents.get(one) ?? [one]);
    if (document.action_id === 701) return items;
    return items.filter((item) => this.places.has(item));
  }
}
