import { SaxesParser } from 'saxes';
import type { DocumentContent, DocumentItem } from './document.js';

/** The text is no document that the registry could type: a critical error, without a receipt (public-facts 2). */
export class UntypedDocument extends Error {}

const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a document: envelope, scalar fields and items. Throws UntypedDocument when it is not well-formed, carries a
 * DOCTYPE, or lacks what its type is told by. Shape and limits of values are the schema's business.
 */
export const readDocument = (xml: Uint8Array): DocumentContent => ended(readInSlices(xml)).content;

/** Where a long list can be cut: between its entries. Places in the text. */
export interface Cuts {
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

class DocumentReader {
  private depth = 0;
  private leaf = '';
  private value = '';
  private part: string | undefined;
  private rootVersion: string | undefined;
  private docType: number | undefined;
  private element = '';
  private readonly fields = new Map<string, string>();
  private readonly ssccs: string[] = [];
  private readonly items: DocumentItem[] = [];
  private list: Cuts = { from: 0, ends: [] };
  cuts: Cuts = this.list;

  /** `position`: how far the parser has come. */
  constructor(private readonly position: () => number) {}

  open(name: string, attributes: Record<string, string>): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw new UntypedDocument('the document nests too deep');
    this.leaf = name;
    this.value = '';
    this.part = attributes['withdrawal_part'];
    if (this.depth === 1) this.openRoot(name, attributes);
    else if (this.depth === 2) this.openAction(name, attributes);
    else if (this.depth === 3) this.list = { from: this.position(), ends: [] };
  }

  text(piece: string): void {
    this.value = this.value === '' ? piece : this.value + piece;
  }

  close(name: string): void {
    if (this.depth === 4) this.list.ends.push(this.position());
    else if (this.depth === 3 && this.list.ends.length > this.cuts.ends.length) this.cuts = this.list;
    if (name === this.leaf && this.depth > 2) this.closeLeaf(name, this.value.trim());
    this.leaf = '';
    this.depth -= 1;
  }

  content(): DocumentContent {
    if (this.docType === undefined)
      throw new UntypedDocument('document type not determined: there is no action element');
    const { docType, element, fields, ssccs, items } = this;
    return { docType, element, fields, ssccs, items, version: this.rootVersion as string };
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
    if (this.depth === 3) {
      if (name === 'sscc') this.ssccs.push(value);
      if (!this.fields.has(name)) this.fields.set(name, value);
      return;
    }
    if (name === 'sgtin' || name === 'sscc') {
      this.items.push(this.part === undefined ? { kind: name, id: value } : { kind: name, id: value, part: this.part });
    } else if (name === 'sold_part') {
      const last = this.items.at(-1);
      if (last !== undefined) last.part = value;
    }
  }
}
