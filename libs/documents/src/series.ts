import { defined } from '#kernel';
import type { SeriesTold } from './port.js';
import type { XmlLeaf } from './walk-xml.js';

const NAMES = new Set(['sgtin', 'sscc', 'gtin', 'series_number', 'expiration_date']);

type Row = Record<string, string>;

/**
 * What a document, or the registry's answer to a query, says of series and expiry (public-facts 2), heard element by
 * element: beside one pack, for a container's packs of a GTIN, or for all that it names.
 */
export class SeriesCollector {
  private readonly rows: (Row | undefined)[] = [];
  private readonly told: SeriesTold[] = [];

  open(depth: number): void {
    this.rows[depth] = undefined;
  }

  leaf({ name, depth, text }: Pick<XmlLeaf, 'name' | 'depth' | 'text'>): void {
    if (!NAMES.has(name)) return;
    // In a list without rows the next pack begins where a name comes again.
    if (name === 'sgtin') this.tell(depth - 1);
    (this.rows[depth - 1] ??= {})[name] = text;
  }

  close(depth: number): void {
    this.tell(depth);
  }

  /** `named`: the pack that an answer is about where it names it elsewhere. */
  facts(named?: string): { series?: SeriesTold[] } {
    const told = this.told.map((one) => ({ ...defined({ item: named }), ...one }));
    return told.length === 0 ? {} : { series: told };
  }

  private tell(depth: number): void {
    const row = this.rows[depth];
    if (row?.series_number === undefined && row?.expiration_date === undefined) return;
    this.rows[depth] = undefined;
    const { sgtin, gtin, series_number: series, expiration_date: expiry } = row;
    const item = sgtin ?? this.rows[depth - 1]?.sscc;
    this.told.push(defined({ item, gtin, series, expiresOn: readDay(expiry) }));
  }
}

/** DD.MM.YYYY as YYYY-MM-DD; undefined for what is not a day. */
function readDay(text: string | undefined): string | undefined {
  const [, day, month, year] = /^(\d\d)\.(\d\d)\.(\d{4})$/.exec(text ?? '') ?? [];
  if (day === undefined || month === undefined || year === undefined || year === '0000') return undefined;
  const written = `${year}-${month}-${day}`;
  const read = new Date(`${written}T00:00:00Z`);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(written) ? written : undefined;
}
