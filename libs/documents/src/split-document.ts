import { PedigreeError } from '#kernel';
import { escapeXml } from './build-document.js';
import { documentTypeOf, type DocumentType } from './catalogue/catalogue.js';
import type { DocumentItem } from './port.js';
import { problemsOf, twice } from './problems.js';
import { IDENTIFIERS, isContainer, readDocument } from './read-document.js';
import type { ElementShape } from './schemas/schema-model.js';
import type { SchemaSet } from './schemas/schema-set.js';
import { builtInSchemas, type SchemaSets } from './schemas/schema-sets.js';
import { walkXml, type XmlLeaf, type XmlListener } from './walk-xml.js';
import { xmlError } from './xml/text.js';

/** Types whose parts would not mean together what the whole means, and why. */
const STAYS_WHOLE: ReadonlyMap<number, string> = new Map([
  ...[10501, 10502, 10511, 10522].map((docType) => [docType, 'a till receipt is one sale'] as const),
  ...[10521, 10523, 10531, 10532, 20521].map(
    (docType) => [docType, 'a message of a disposal registrar is one operation'] as const,
  ),
  ...[10305, 10311, 10319].map((docType) => [docType, 'it reports one message of the packing equipment'] as const),
  [911, 'a container is packed once: a second part would pack it again'],
  [254, 'it corrects one document, which has no more items'],
]);

/** Depth of the rows: documents, action, list, row. */
const ROW_DEPTH = 3;

/**
 * A document with more items than one may have, in parts: the same envelope and header fields in each, the rows in
 * their order, no row twice and none torn (registry-interface 8: a larger set is split into parts). A document within
 * the limit is its own one part, byte for byte. A part is written anew and means the same; `checkDocument` is what it
 * is to be given to. Pure. Throws PedigreeError as `readDocument` does, `too_many_items` for a type that stays whole or
 * a single row above the limit, and `schema_violation` for an item that one document may name once, and two rows name.
 */
export function splitDocument(
  bytes: Uint8Array,
  { maxItemsOf, schemas = builtInSchemas() }: { maxItemsOf(docType: number): number; schemas?: SchemaSets },
): Uint8Array[] {
  const facts = readDocument(bytes, { maxItems: Number.POSITIVE_INFINITY });
  const { docType, element } = facts;
  const maxItems = maxItemsOf(docType);
  if (facts.items.length <= maxItems) return [bytes];
  const many = `${facts.items.length} items; at most ${maxItems} go into one document of type ${docType}`;
  const set = schemas.forVersion(facts.schemaVersion);
  const lists = listsOf(set.shapeOf(docType)?.action);
  const whole = whyWhole(docType, lists);
  if (whole !== undefined)
    throw new PedigreeError('too_many_items', `${many}, and this type is never split: ${whole}`, { element });
  const reader = new RowReader(lists, documentTypeOf(docType) ?? {});
  walkXml(bytes, reader);
  refuseTwice(reader, set);
  const parts = partsOf(reader.rows, maxItems);
  if (parts === undefined)
    throw new PedigreeError('too_many_items', `${many}, and one of its rows alone has more`, { element });
  return parts.map((rows) => reader.write(rows));
}

/** Why a type is never split; undefined for one that may be. */
function whyWhole(docType: number, lists: ElementShape[]): string | undefined {
  if (documentTypeOf(docType)?.direction !== 'outgoing') return 'it is not ours to write';
  return STAYS_WHOLE.get(docType) ?? (lists.length === 0 ? 'it has no rows' : undefined);
}

/** The children of the action element that hold the rows, or repeat as a row themselves; a document has one of them. */
const listsOf = (action: ElementShape | undefined): ElementShape[] =>
  action?.children?.filter((field) => field.many || field.children?.some((row) => row.many)) ?? [];

interface Row {
  xml: string;
  /** Without the container that they go into. */
  items: number;
  named: Named[];
}

interface Named {
  kind: DocumentItem['kind'];
  id: string;
  line: number;
}

/**
 * Each part may be valid where the whole is not: an item that it may name once can stand in two of them. Whether a type
 * allows that is asked of its schema set, with the first two such rows of packs and of containers.
 */
function refuseTwice(reader: RowReader, set: SchemaSet): void {
  const known = new Map<string, Row>();
  const asked = new Set<DocumentItem['kind']>();
  for (const row of reader.rows)
    for (const { kind, id, line } of row.named) {
      const first = known.get(id) ?? row;
      known.set(id, first);
      if (first === row || asked.has(kind)) continue;
      asked.add(kind);
      const problems = problemsOf(set.violations(reader.write([first, row])), (type) => set.baseOf(type));
      if (problems.some(({ sentence }) => sentence === twice(id)))
        throw xmlError('schema_violation', twice(id), { line, item: id });
    }
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

/** Takes a document apart into the text before its rows, the rows, and the text after them. */
class RowReader implements XmlListener {
  readonly rows: Row[] = [];
  private before = '';
  private behind = '';
  /** Text of the open elements inside the current row or header field, the outermost first. */
  private readonly open_: { tag: string; xml: string }[] = [];
  /** What the current row or header field names. */
  private items = 0;
  private named: Named[] = [];
  /** By name: does the element repeat as a row itself, or hold the rows? */
  private readonly repeats: ReadonlyMap<string, boolean>;

  constructor(
    lists: ElementShape[],
    private readonly type: Pick<DocumentType, 'packsInto'>,
  ) {
    this.repeats = new Map(lists.map((list) => [list.name, list.many]));
  }

  open(name: string, attributes: Record<string, string>, { depth }: { depth: number }): void {
    const tag = `<${name}${Object.entries(attributes)
      .map(([attribute, value]) => ` ${attribute}="${escapeXml(value)}"`)
      .join('')}>`;
    if (this.isFrame(name, depth)) this.around(tag);
    else this.open_.push({ tag, xml: '' });
  }

  leaf({ name, depth, text, line }: XmlLeaf): void {
    if (this.isFrame(name, depth)) return this.around(`</${name}>`);
    const kind = IDENTIFIERS.get(name);
    if (kind !== undefined) {
      this.named.push({ kind, id: text, line });
      if (!isContainer(this.type, depth)) this.items += 1;
    }
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
    return depth < 2 || (depth === 2 && this.repeats.get(name) === false);
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
    else {
      const { items, named } = this;
      if (this.isRow(name, depth)) this.rows.push({ xml: element, items, named });
      else this.around(element);
      this.items = 0;
      this.named = [];
    }
  }

  private isRow(name: string, depth: number): boolean {
    return depth === ROW_DEPTH || (depth === ROW_DEPTH - 1 && this.repeats.get(name) === true);
  }
}
