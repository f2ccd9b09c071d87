import { PedigreeError } from '#kernel';
import { escapeXml } from './build-document.js';
import { documentShape, type ElementShape } from './document-shape.js';
import { documentTypeOf } from './document-types.js';
import { IDENTIFIERS, readDocument } from './read-document.js';
import { walkXml, type XmlListener } from './walk-xml.js';

/** Types whose parts would not mean together what the whole means, and why. */
const STAYS_WHOLE: ReadonlyMap<number, string> = new Map([
  [10511, 'a till receipt is one sale'],
  [10521, 'a message of a disposal registrar is one operation'],
  [10522, 'a message of a disposal registrar is one operation'],
  [10531, 'a message of a disposal registrar is one operation'],
  [10311, 'it reports one message of the packing equipment'],
  [911, 'a container is packed once: a second part would pack it again'],
]);

/** Depth of the rows: documents, action, list, row. */
const ROW_DEPTH = 3;

/**
 * A document with more items than one may have, in parts: the same envelope and header fields in each, the rows in
 * their order, no row twice and none torn (registry-interface 8: a larger set is split into parts). A document within
 * the limit is its own one part, byte for byte. A part is written anew and means the same; `checkDocument` is what it
 * is to be given to. Pure. Throws PedigreeError as `readDocument` does, and `too_many_items` for a type that stays
 * whole or a single row above the limit.
 */
export function splitDocument(
  bytes: Uint8Array,
  { maxItemsOf }: { maxItemsOf(docType: number): number },
): Uint8Array[] {
  const facts = readDocument(bytes, { maxItems: Number.POSITIVE_INFINITY });
  const { docType, element } = facts;
  const maxItems = maxItemsOf(docType);
  if (facts.items.length <= maxItems) return [bytes];
  const many = `${facts.items.length} items; at most ${maxItems} go into one document of type ${docType}`;
  const whole = whyWhole(docType);
  if (whole !== undefined)
    throw new PedigreeError('too_many_items', `${many}, and this type is never split: ${whole}`, { element });
  const reader = new RowReader(docType);
  walkXml(bytes, reader);
  const parts = partsOf(reader.rows, maxItems);
  if (parts === undefined)
    throw new PedigreeError('too_many_items', `${many}, and one of its rows alone has more`, { element });
  return parts.map((rows) => reader.write(rows));
}

/** Why a type is never split; undefined for one that may be. */
function whyWhole(docType: number): string | undefined {
  if (documentTypeOf(docType)?.direction !== 'outgoing') return 'it is not ours to write';
  return listOf(docType) === undefined ? 'it has no rows' : STAYS_WHOLE.get(docType);
}

/** The child of the action element that holds the rows, or repeats as a row itself. */
const listOf = (docType: number): ElementShape | undefined =>
  documentShape(docType).action.children?.find((field) => field.many || field.children?.some((row) => row.many));

interface Row {
  xml: string;
  items: number;
}

/** Rows in their order, each part filled as far as it goes; undefined when a single row is too large. */
function partsOf(rows: Row[], maxItems: number): Row[][] | undefined {
  const parts: Row[][] = [];
  let room = 0;
  for (const row of rows) {
    if (row.items > maxItems) return undefined;
    if (row.items > room || parts.at(-1)?.length === maxItems) {
      parts.push([]);
      room = maxItems;
    }
    parts.at(-1)?.push(row);
    room -= row.items;
  }
  return parts;
}

/** Takes a document apart into what stands before its rows, the rows, and what stands behind them. */
class RowReader implements XmlListener {
  readonly rows: Row[] = [];
  private before = '';
  private behind = '';
  /** Text of the open elements inside the current row or header field, the outermost first. */
  private readonly open_: { tag: string; xml: string }[] = [];
  private itemsInRow = 0;
  /** The element that holds the rows, or repeats as a row itself. */
  private readonly list: string;
  private readonly repeatsItself: boolean;

  constructor(docType: number) {
    const list = listOf(docType);
    if (list === undefined) throw new Error(`document type ${docType} has no rows`);
    this.list = list.name;
    this.repeatsItself = list.many;
  }

  open(name: string, attributes: Record<string, string>, { depth }: { depth: number }): void {
    const tag = `<${name}${Object.entries(attributes)
      .map(([attribute, value]) => ` ${attribute}="${escapeXml(value)}"`)
      .join('')}>`;
    if (this.isFrame(name, depth)) this.around(tag);
    else this.open_.push({ tag, xml: '' });
  }

  leaf({ name, depth, text }: { name: string; depth: number; text: string }): void {
    if (this.isFrame(name, depth)) return this.around(`</${name}>`);
    if (IDENTIFIERS.has(name)) this.itemsInRow += 1;
    this.end(name, depth, escapeXml(text));
  }

  close(name: string, depth: number): void {
    if (this.isFrame(name, depth)) this.around(`</${name}>`);
    else this.end(name, depth, '');
  }

  write(rows: Row[]): Buffer {
    return Buffer.from(`${this.before}${rows.map((row) => row.xml).join('')}${this.behind}`, 'utf8');
  }

  /** Root, action element, and the list around the rows. */
  private isFrame(name: string, depth: number): boolean {
    return depth < 2 || (depth === 2 && name === this.list && !this.repeatsItself);
  }

  private around(xml: string): void {
    if (this.rows.length === 0) this.before += xml;
    else this.behind += xml;
  }

  private end(name: string, depth: number, text: string): void {
    const { tag, xml } = this.open_.pop() as { tag: string; xml: string };
    const element = `${tag}${xml}${text}</${name}>`;
    const outer = this.open_.at(-1);
    if (outer !== undefined) outer.xml += element;
    else if (this.isRow(name, depth)) {
      this.rows.push({ xml: element, items: this.itemsInRow });
      this.itemsInRow = 0;
    } else {
      this.around(element);
      this.itemsInRow = 0;
    }
  }

  private isRow(name: string, depth: number): boolean {
    return this.repeatsItself ? depth === ROW_DEPTH - 1 && name === this.list : depth === ROW_DEPTH;
  }
}
