import { SaxesParser } from 'saxes';
import type { DocumentContent, DocumentItem, DocumentRow } from './document.js';

/** The text is not a document that the registry could type: a critical error, without a receipt (public-facts 2). */
export class UntypedDocument extends Error {}

const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a document: envelope, scalar fields and items. Throws UntypedDocument when it is not well-formed, carries a
 * DOCTYPE, or lacks what its type is told by. Shape and limits of values are the schema's business.
 */
export const readDocument = (xml: Uint8Array): DocumentContent => ended(readInSlices(xml)).content;

/** Where a long list can be cut: between its entries. Places in the text. */
interface Cuts {
  /** Where the first entry begins. */
  from: number;
  /** Where each entry ends. */
  ends: number[];
}

export interface DocumentReading {
  text: string;
  content: DocumentContent;
  /** Of the longest list directly under the action element. */
  cuts: Cuts;
}

const SLICE_CHARACTERS = 32_768;

/** Reads a document in slices: a long one takes 100 ms, and others wait meanwhile. */
export function* readInSlices(xml: Uint8Array): Generator<void, DocumentReading> {
  let text: string;
  try {
    text = utf8.decode(xml);
  } catch {
    throw new UntypedDocument('the document is not UTF-8 text');
  }
  const parser = new SaxesParser();
  const reader = new DocumentReader(() => parser.position);
  parser.on('error', (error) => {
    throw new UntypedDocument(`the document is not well-formed XML: ${error.message}`);
  });
  parser.on('doctype', () => {
    throw new UntypedDocument('a document with a DOCTYPE is not processed');
  });
  parser.on('opentag', (tag) => reader.open(tag.name, tag.attributes as Record<string, string>));
  parser.on('text', (piece) => reader.text(piece));
  parser.on('cdata', (piece) => reader.text(piece));
  parser.on('closetag', (tag) => reader.close(tag.name));
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
    if (at > 0) yield;
    parser.write(text.slice(at, at + SLICE_CHARACTERS));
  }
  parser.close();
  return { text, content: reader.content(), cuts: reader.cuts };
}

/** Runs work that can be done in slices to its end at once. */
export function ended<Result>(work: Iterator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** What the rows of a type are called that have fields of their own. */
const ROWS: Record<number, string> = {
  915: 'detail',
  916: 'detail',
  10_501: 'receipt',
  10_502: 'receipt',
  10_511: 'receipt',
  10_522: 'receipt',
};
/** Elements whose leaves are fields of the document. */
const HOLDERS: ReadonlySet<string> = new Set(['details', 'receiver_info', 'shipper_info', 'series_details']);
const PARTS: ReadonlySet<string> = new Set(['sold_part', 'corrected_part']);
const PARTNERS: ReadonlySet<string> = new Set(['counterparty_id', 'inn_ul', 'inn_fl']);
const DEVICE_FIELDS: ReadonlySet<string> = new Set(['device_id', 'skzkm_origin_msg_id', 'skzkm_report_id']);

class DocumentReader {
  private depth = 0;
  /** Names of the open elements. */
  private readonly names: string[] = [];
  private row: DocumentRow | undefined;
  private leaf = '';
  private value = '';
  private part: string | undefined;
  private rootVersion: string | undefined;
  private docType: number | undefined;
  private element = '';
  private readonly fields = new Map<string, string>();
  private device: Record<string, string> | undefined;
  private readonly ssccs: string[] = [];
  private readonly items: DocumentItem[] = [];
  private readonly rows: DocumentRow[] = [];
  private readonly partners: string[] = [];
  private list: Cuts = { from: 0, ends: [] };
  cuts: Cuts = this.list;

  /** `position`: how far the parser has come. */
  constructor(private readonly position: () => number) {}

  open(name: string, attributes: Record<string, string>): void {
    this.names[(this.depth += 1)] = name;
    if (this.depth > MAX_DEPTH) throw new UntypedDocument('the document nests too deep');
    this.leaf = name;
    this.value = '';
    this.part = attributes['withdrawal_part'];
    if (this.depth === 1) this.openRoot(name, attributes);
    else if (this.depth === 2) this.openAction(name, attributes);
    else if (this.depth === 3) this.list = { from: this.position(), ends: [] };
    else if (this.depth === 4 && ROWS[this.docType ?? 0] === name)
      this.rows.push((this.row = { fields: new Map(), items: [] }));
  }

  text(piece: string): void {
    this.value = this.value === '' ? piece : this.value + piece;
  }

  close(name: string): void {
    if (this.depth === 4) this.endEntry();
    else if (this.depth === 3 && this.list.ends.length > this.cuts.ends.length) this.cuts = this.list;
    if (name === this.leaf && this.depth > 2) this.closeLeaf(name, this.value.trim());
    this.leaf = '';
    this.depth -= 1;
  }

  private endEntry(): void {
    this.list.ends.push(this.position());
    this.row = undefined;
  }

  content(): DocumentContent {
    if (this.docType === undefined)
      throw new UntypedDocument('document type not determined: there is no action element');
    const { docType, element, fields, device, ssccs, items, rows, partners } = this;
    return { docType, element, fields, device, ssccs, items, rows, partners, version: this.rootVersion as string };
  }

  private openRoot(name: string, attributes: Record<string, string>): void {
    if (name !== 'documents') throw new UntypedDocument(`document type not determined: the root element is "${name}"`);
    this.rootVersion = attributes['version'];
    if (this.rootVersion === undefined)
      throw new UntypedDocument('document type not determined: the attribute version is missing');
  }

  private openAction(name: string, attributes: Record<string, string>): void {
    if (this.docType !== undefined)
      throw new UntypedDocument('document type not determined: there is more than one action element');
    const actionId = attributes['action_id'] ?? '';
    if (!/^\d{1,5}$/.test(actionId))
      throw new UntypedDocument(`document type not determined: action_id of ${name} is "${actionId}"`);
    this.docType = Number(actionId);
    this.element = name;
  }

  private closeLeaf(name: string, value: string): void {
    if (this.depth === 3) this.closeField(name, value);
    else this.closeInner(name, value);
  }

  private closeField(name: string, value: string): void {
    if (name === 'sscc') this.ssccs.push(value);
    if (!this.fields.has(name)) this.fields.set(name, value);
  }

  private closeInner(name: string, value: string): void {
    const isOfRow = this.row !== undefined && this.depth === 5;
    if (isOfRow) this.row?.fields.set(name, value);
    // The unit that a row is about is none of its items.
    if (name === 'sgtin' || (name === 'sscc' && !isOfRow)) return this.addItem(name, value);
    if (PARTS.has(name)) Object.assign(this.items.at(-1) ?? {}, { part: value });
    else if (this.docType === 212 && PARTNERS.has(name)) this.partners.push(value);
    else if (DEVICE_FIELDS.has(name)) this.device = { ...this.device, [name]: value };
    else this.setHeld(name, value);
  }

  private addItem(kind: 'sgtin' | 'sscc', id: string): void {
    const item: DocumentItem = this.part === undefined ? { kind, id } : { kind, id, part: this.part };
    this.items.push(item);
    this.row?.items.push(item);
  }

  private setHeld(name: string, value: string): void {
    const holder = this.names[this.depth - 1] ?? '';
    const path = HOLDERS.has(holder) ? `${holder}/${name}` : undefined;
    if (path !== undefined && !this.fields.has(path)) this.fields.set(path, value);
  }
}
