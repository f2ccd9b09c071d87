import { defined, isSgtin, isSscc, PedigreeError } from '#kernel';
import { documentTypeOf, documentTypes, type DocumentType } from './document-types.js';
import type { DocumentFacts, DocumentItem } from './port.js';
import { walkXml, xmlError, type XmlLeaf, type XmlListener } from './walk-xml.js';

/** Element names that carry an identifier, in whatever row they stand. */
export const IDENTIFIERS: ReadonlyMap<string, DocumentItem['kind']> = new Map([
  ['sgtin', 'sgtin'],
  ['sscc', 'sscc'],
  ['sscc_up', 'sscc'],
  ['sscc_down', 'sscc'],
]);
/** Types whose own `sscc` is the container that their content goes into. */
const PACKS_INTO_OWN_SSCC = new Set([911, 914]);
const COUNTERPARTY_FIELDS = ['receiver_id', 'shipper_id', 'counterparty_id'];

/** Depth of the children of the action element: the document's own fields. */
export const FIELD_DEPTH = 2;

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
  const collector = new FactsCollector({ isForeign: false, maxItems: options.maxItems });
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
  const collector = new FactsCollector({ isForeign: true });
  walkXml(bytes, collector);
  return { ...collector.facts(), ...defined({ originalId: collector.originalId }) };
}

/** Most items of a type that is not known here: what the largest known one may have (public-facts 2.1). */
const MOST_FOREIGN_ITEMS = 150_000;

class FactsCollector implements XmlListener {
  originalId: string | undefined;
  private innerOperationDate: string | undefined;
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

  constructor(
    private readonly options: {
      isForeign: boolean;
      /** Instead of what the type allows. */ maxItems?: number | undefined;
    },
  ) {}

  open(name: string, attributes: Record<string, string>, { depth, line }: { depth: number; line: number }): void {
    if (depth === 0) this.openRoot(name, attributes, line);
    else if (depth === 1) this.openAction(name, attributes, line);
    this.itemsBefore[depth] = this.items.length;
    this.scalars[depth] = undefined;
    this.attributes = attributes;
  }

  leaf(leaf: XmlLeaf): void {
    if (leaf.depth < FIELD_DEPTH) return;
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
    const scalars = this.scalars[depth];
    if (scalars === undefined || depth < FIELD_DEPTH) return;
    for (let i = this.itemsBefore[depth] as number; i < this.items.length; i += 1) {
      const item = this.items[i] as DocumentItem;
      item.detail = item.detail === undefined ? scalars : { ...scalars, ...item.detail };
    }
  }

  facts(): DocumentFacts {
    if (this.type === undefined)
      throw xmlError('schema_violation', '<documents> holds no action element', { line: 1, element: 'documents' });
    const { docType, element, direction } = this.type;
    const { isForeign } = this.options;
    const operationDate =
      this.fields.operation_date ??
      this.innerOperationDate ??
      (isForeign || direction === 'query' ? '' : this.missing('operation_date'));
    const subjectId = this.fields.subject_id ?? (isForeign ? '' : this.missing('subject_id'));
    const counterpartyId = COUNTERPARTY_FIELDS.map((name) => this.fields[name]).find((value) => value !== undefined);
    if (PACKS_INTO_OWN_SSCC.has(docType)) {
      const into = this.container ?? this.missing('sscc');
      for (const item of this.items) item.into = into;
    }
    return {
      docType,
      element,
      schemaVersion: this.schemaVersion as string,
      subjectId,
      ...defined({ counterpartyId, docNum: this.fields.doc_num, docDate: this.fields.doc_date }),
      operationDate,
      items: this.items,
      fields: this.fields,
    };
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
    if (this.options.isForeign && docType !== undefined) {
      this.type = { direction: 'outgoing', maxItems: MOST_FOREIGN_ITEMS, title: '', ...known, docType, element: name };
      return;
    }
    if (known === undefined)
      throw refuse(
        `action_id ${actionId.slice(0, 20)} of <${name}> is no document type that is known here ` +
          `(${documentTypes.length} are)`,
      );
    if (known.element !== name) throw refuse(`action_id ${actionId} belongs to <${known.element}>, not to <${name}>`);
    this.type = known;
  }

  private identifier(kind: DocumentItem['kind'], leaf: XmlLeaf): void {
    const type = this.type as DocumentType;
    const { name, depth, text, plain, line } = leaf;
    if (!plain || !(kind === 'sgtin' ? isSgtin(text) : isSscc(text))) throw invalidIdentifier(kind, leaf);
    if (name === 'sscc' && depth === FIELD_DEPTH && PACKS_INTO_OWN_SSCC.has(type.docType)) {
      if (this.container !== undefined)
        throw xmlError('schema_violation', `<${type.element}> names two containers`, {
          line,
          element: name,
          item: text,
        });
      this.container = text;
      this.fields[name] = text;
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

  private scalar({ name, depth, text, line }: XmlLeaf): void {
    const own = depth === FIELD_DEPTH ? this.fields : (this.scalars[depth - 1] ??= {});
    if (this.options.isForeign) {
      if (name === 'operation_date') this.innerOperationDate ??= text;
      // Types that are not known here may repeat a field; the first one is told.
      if (name !== '__proto__' && Object.hasOwn(own, name)) return;
    }
    if (name === '__proto__' || Object.hasOwn(own, name))
      throw xmlError('schema_violation', `<${name}> stands here twice or must not`, { line, element: name });
    own[name] = text;
  }

  private missing(field: string): never {
    const { element } = this.type as DocumentType;
    throw new PedigreeError('schema_violation', `<${element}> has no <${field}>`, {
      element: `/documents/${element}/${field}`,
    });
  }
}

function invalidIdentifier(kind: DocumentItem['kind'], { name, text, plain, line }: XmlLeaf): PedigreeError {
  const shape = kind === 'sgtin' ? 'an SGTIN (14 digits, then 13 letters or digits)' : 'an SSCC (18 digits)';
  const item = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  const why = plain ? `is not ${shape}` : `must be ${shape} without comments or CDATA`;
  const message = `line ${line}: "${item}" in <${name}> ${why}`;
  return new PedigreeError('invalid_identifier', message, { line, item, element: name });
}
