import { defined, isSgtin, isSscc, PedigreeError } from '#kernel';
import { CATALOGUE, documentTypeOf, type DocumentType } from './catalogue/catalogue.js';
import { NOT_KNOWN } from './catalogue/effect.js';
import type { DocumentFacts, DocumentItem } from './port.js';
import { SeriesCollector } from './series.js';
import { walkXml, type XmlLeaf, type XmlListener } from './walk-xml.js';
import { xmlError } from './xml/text.js';

/** Element names that carry an identifier, in whatever row they stand. */
export const IDENTIFIERS: ReadonlyMap<string, DocumentItem['kind']> = new Map([
  ['sgtin', 'sgtin'],
  ['sscc', 'sscc'],
  ['sscc_up', 'sscc'],
  ['sscc_down', 'sscc'],
]);
const COUNTERPARTY_FIELDS = ['receiver_id', 'shipper_id', 'counterparty_id'];

/** Depth of the children of the action element: the document's own fields. */
export const FIELD_DEPTH = 2;
/** Depth of a row that names a container of its own: documents, action, list, row. */
const ROW_DEPTH = 3;

/**
 * Reads one document (public-facts 2) into facts and items, in one pass and without a tree. It trusts nothing but the
 * envelope, the identifiers and the fields that every document has; the rest of the schema is `checkDocument`'s.
 * `operationDate` is empty for the queries 210 and 220, which carry none. Throws PedigreeError: `malformed_xml`,
 * `forbidden_xml`, `unknown_document_type`, `invalid_identifier`, `too_many_items`, `schema_violation` (each with the
 * line), `body_too_large`.
 */
export function readDocument(
  bytes: Uint8Array,
  options: { /** Instead of what the type allows. */ maxItems?: number } = {},
): DocumentFacts {
  const collector = new FactsCollector({ isForeign: () => false, maxItems: options.maxItems });
  walkXml(bytes, collector);
  return collector.facts();
}

/** Facts of a document that is not ours. */
export interface ForeignFacts extends DocumentFacts {
  /** The document that its envelope refers to (public-facts 2). */
  originalId?: string;
}

/**
 * Reads a document that another system wrote: of any type, also one that is not known here. What a type of ours must
 * have may be missing: `subjectId` and `operationDate` are then empty (a till's document has a moment in each of its
 * receipts; the first one is told). Throws as `readDocument` does for what is no such document at all, and for
 * identifiers that are none.
 */
export function readForeignDocument(bytes: Uint8Array): ForeignFacts {
  const collector = new FactsCollector({ isForeign: () => true });
  walkXml(bytes, collector);
  return { ...collector.facts(), ...defined({ originalId: collector.originalId }) };
}

const DOCUMENTS = CATALOGUE.filter(({ direction }) => direction !== 'answer').length;

/** Most items of a type that is not known here: what the largest known one may have (public-facts 2.1). */
const MOST_FOREIGN_ITEMS = 150_000;

/** Collects the facts of one document from its elements. Throws as `readDocument` does. */
export class FactsCollector implements XmlListener {
  originalId: string | undefined;
  private isForeign = false;
  private innerOperationDate: string | undefined;
  private details: Record<string, string> | undefined;
  private type: DocumentType | undefined;
  private schemaVersion: string | undefined;
  private container: string | undefined;
  private readonly items: DocumentItem[] = [];
  private readonly fields: Record<string, string> = {};
  /**
   * By depth: how many items there were when the open element began, its scalar children, and the attributes of the
   * newest element.
   */
  private readonly itemsBefore: number[] = [];
  private readonly scalars: (Record<string, string> | undefined)[] = [];
  private attributes: Record<string, string> = {};
  private readonly series = new SeriesCollector();

  constructor(
    private readonly options: {
      /** Was a document of this type written by another system? */ isForeign(docType: number): boolean;
      /** Instead of what the type allows. */ maxItems?: number | undefined;
    },
  ) {}

  open(name: string, attributes: Record<string, string>, { depth, line }: { depth: number; line: number }): void {
    if (depth === 0) this.openRoot(name, attributes, line);
    else if (depth === 1) this.openAction(name, attributes, line);
    this.itemsBefore[depth] = this.items.length;
    this.scalars[depth] = undefined;
    this.attributes = attributes;
    this.series.open(depth);
  }

  leaf(leaf: XmlLeaf): void {
    if (leaf.depth < FIELD_DEPTH) return;
    this.series.leaf(leaf);
    const kind = IDENTIFIERS.get(leaf.name);
    if (kind !== undefined) this.identifier(kind, leaf);
    else if (leaf.name === 'object_id' && (isSgtin(leaf.text) || isSscc(leaf.text)))
      this.identifier(isSgtin(leaf.text) ? 'sgtin' : 'sscc', leaf);
    else this.scalar(leaf);
  }

  /**
   * Scalars beside an item describe it, also when the item stands one level deeper (`sscc_detail`). The document's own
   * fields describe no single item.
   */
  close(name: string, depth: number): void {
    if (IDENTIFIERS.has(name))
      throw new PedigreeError('schema_violation', `<${name}> must hold an identifier and no elements`, {
        element: name,
      });
    this.series.close(depth);
    if (this.type?.packsInto === 'row' && depth === ROW_DEPTH) this.packRow();
    const scalars = this.scalars[depth];
    if (scalars === undefined || depth < FIELD_DEPTH) return;
    if (this.itemsBefore[depth] === this.items.length) this.describe(name, depth, scalars);
    for (let i = this.itemsBefore[depth] as number; i < this.items.length; i += 1) {
      const item = this.items[i] as DocumentItem;
      item.detail = item.detail === undefined ? scalars : { ...scalars, ...item.detail };
    }
  }

  /** Of an element without items: `details` describe all items, and a `detail` what the container before it holds. */
  private describe(name: string, depth: number, scalars: Record<string, string>): void {
    if (name === 'details' && depth === FIELD_DEPTH) this.details = scalars;
    const container = this.items.at(-1);
    const isOfContainer = container?.kind === 'sscc' && (this.itemsBefore[depth - 1] ?? 0) < this.items.length;
    const { gtin, series_number: series } = scalars;
    if (name === 'detail' && isOfContainer && gtin !== undefined && series !== undefined)
      (container.lots ??= []).push({ gtin, series });
  }

  facts(): DocumentFacts {
    if (this.type === undefined)
      throw xmlError('schema_violation', '<documents> holds no action element', { line: 1, element: 'documents' });
    const { docType, element, packsInto, counterparty } = this.type;
    const { isForeign } = this;
    const operationDate = this.operationDate(this.type);
    const subjectId = this.fields.subject_id ?? (isForeign ? '' : this.missing('subject_id'));
    const others = [...COUNTERPARTY_FIELDS, ...(counterparty === undefined ? [] : [counterparty])];
    const counterpartyId = others.map((name) => this.fields[name]).find((value) => value !== undefined);
    if (packsInto === 'own') {
      const into = this.container ?? this.missing('sscc');
      for (const item of this.items) item.into = into;
    }
    if (this.details !== undefined)
      for (const item of this.items)
        item.detail = item.detail === undefined ? this.details : { ...this.details, ...item.detail };
    return {
      docType,
      element,
      schemaVersion: this.schemaVersion as string,
      subjectId,
      ...defined({ counterpartyId, docNum: this.fields.doc_num, docDate: this.fields.doc_date }),
      operationDate,
      items: this.items,
      fields: this.fields,
      ...this.series.facts(),
    };
  }

  private operationDate({ date }: DocumentType): string {
    const written = this.fields.operation_date ?? this.innerOperationDate ?? this.fields.notification_date;
    return written ?? (this.isForeign || date === 'none' ? '' : this.missing('operation_date'));
  }

  /** Ends a row that names a container: all items of the row go into it. */
  private packRow(): void {
    for (const item of this.items.slice(this.itemsBefore[ROW_DEPTH])) if (this.container) item.into = this.container;
    this.container = undefined;
  }

  private openRoot(name: string, attributes: Record<string, string>, line: number): void {
    if (name !== 'documents')
      throw xmlError('schema_violation', `the root element is <${name}>, not <documents>`, { line, element: name });
    if (attributes.version === undefined)
      throw xmlError('schema_violation', '<documents> has no version', { line, element: 'documents/@version' });
    this.schemaVersion = attributes.version;
    this.originalId = attributes.original_id;
  }

  private openAction(name: string, attributes: Record<string, string>, line: number): void {
    if (this.type !== undefined)
      throw xmlError('schema_violation', `<documents> holds a second action element, <${name}>`, {
        line,
        element: name,
      });
    const actionId = attributes.action_id;
    const refuse = (why: string) =>
      new PedigreeError('unknown_document_type', `line ${line}: ${why}`, { line, element: name });
    if (actionId === undefined) throw refuse(`<${name}> has no action_id`);
    const docType = /^\d{1,6}$/.test(actionId) ? Number(actionId) : undefined;
    const known = docType === undefined ? undefined : documentTypeOf(docType);
    this.isForeign = docType !== undefined && this.options.isForeign(docType);
    if (docType !== undefined && this.isForeign) {
      this.type = { ...unknownType(docType, name), ...known, element: name, maxItems: MOST_FOREIGN_ITEMS };
      return;
    }
    if (known === undefined || known.direction === 'answer')
      throw refuse(
        `action_id ${actionId.slice(0, 20)} of <${name}> is not a document type that is known here ` +
          `(${DOCUMENTS} are)`,
      );
    if (known.element !== name) throw refuse(`action_id ${actionId} belongs to <${known.element}>, not to <${name}>`);
    this.type = known;
  }

  private identifier(kind: DocumentItem['kind'], leaf: XmlLeaf): void {
    const type = this.type as DocumentType;
    const { name, depth, text, plain, line } = leaf;
    if (!plain || !(kind === 'sgtin' ? isSgtin(text) : isSscc(text))) throw invalidIdentifier(kind, leaf);
    if (name === 'sscc' && isContainer(type, depth)) {
      if (this.container !== undefined)
        throw xmlError('schema_violation', `<${type.element}> names two containers`, {
          line,
          element: name,
          item: text,
        });
      this.container = text;
      if (depth === FIELD_DEPTH) this.fields[name] = text;
      return;
    }
    const maxItems = this.options.maxItems ?? type.maxItems;
    if (this.items.length >= maxItems) {
      const message = `more than ${maxItems} items; that is the most in one document of type ${type.docType}`;
      const place = { line, item: text, element: type.element };
      throw new PedigreeError('too_many_items', `line ${line}: ${message}`, place);
    }
    const item: DocumentItem = { kind, id: text };
    for (const attribute in this.attributes) (item.detail ??= {})[attribute] = this.attributes[attribute] as string;
    this.items.push(item);
  }

  private scalar(leaf: XmlLeaf): void {
    const { name, depth, text } = leaf;
    if (name === 'operation_date') this.innerOperationDate ??= text;
    const item = this.type?.flatRows === true && depth > FIELD_DEPTH ? this.items.at(-1) : undefined;
    if (item !== undefined) item.detail = { ...item.detail, [name]: text };
    else this.keep(depth === FIELD_DEPTH ? this.fields : (this.scalars[depth - 1] ??= {}), leaf);
  }

  /** Below the own fields, and in what others wrote, a field may repeat: the first one is told. */
  private keep(scalars: Record<string, string>, { name, depth, text, line }: XmlLeaf): void {
    const isTold = Object.hasOwn(scalars, name);
    const mayRepeat = this.isForeign || depth > FIELD_DEPTH;
    if (name === '__proto__' || (isTold && !mayRepeat))
      throw xmlError('schema_violation', `<${name}> stands here twice or must not`, { line, element: name });
    if (!isTold) scalars[name] = text;
  }

  private missing(field: string): never {
    const { element } = this.type as DocumentType;
    throw new PedigreeError('schema_violation', `<${element}> has no <${field}>`, {
      element: `/documents/${element}/${field}`,
    });
  }
}

/** Is the `sscc` at this depth the container that items go into? */
export const isContainer = ({ packsInto }: Pick<DocumentType, 'packsInto'>, depth: number): boolean =>
  (packsInto === 'own' && depth === FIELD_DEPTH) || (packsInto === 'row' && depth === ROW_DEPTH + 1);

const unknownType = (docType: number, element: string): DocumentType => ({
  docType,
  element,
  title: '',
  direction: 'outgoing',
  maxItems: 0,
  effect: NOT_KNOWN,
});

function invalidIdentifier(kind: DocumentItem['kind'], { name, text, plain, line }: XmlLeaf): PedigreeError {
  const shape = kind === 'sgtin' ? 'an SGTIN (14 digits, then 13 letters or digits)' : 'an SSCC (18 digits)';
  const item = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  const why = plain ? `is not ${shape}` : `must be ${shape} without comments or CDATA`;
  const message = `line ${line}: "${item}" in <${name}> ${why}`;
  return new PedigreeError('invalid_identifier', message, { line, item, element: name });
}
