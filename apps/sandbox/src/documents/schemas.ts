import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlLibError,
  XsdValidator,
  xmlRegisterInputProvider,
} from 'libxml2-wasm';
import { z } from 'zod';
import { readJsonFile } from '../data-files.js';
import type { DocumentReading } from './xml.js';

const indexShape = z.array(
  z.object({ docType: z.number(), element: z.string(), file: z.string(), maxItems: z.number().optional() }),
);

/** One document type of a schema set. */
export interface SchemaEntry {
  docType: number;
  element: string;
  file: string;
  maxItems?: number | undefined;
}

const MAX_VIOLATIONS = 20;
const SLICE_ENTRIES = 1000;

/**
 * The XSD sets by version, compiled when first needed. Where a set is absent nothing is validated and every version
 * passes: the sandbox still works on a bare copy, and says so at start.
 */
export class Schemas {
  private readonly entries = new Map<string, Map<number, SchemaEntry>>();
  private readonly validators = new Map<string, XsdValidator>();

  constructor(private readonly folder: string) {}

  /** Whether there is a schema set of this version. */
  has(version: string): boolean {
    return this.index(version) !== undefined;
  }

  /** The type's entry, or undefined when the set does not know it. */
  entry(version: string, docType: number): SchemaEntry | undefined {
    return this.index(version)?.get(docType);
  }

  /** What the schema finds wrong, each with its line; empty when the document is valid or there is no schema. */
  violations(xml: Buffer, version: string, entry: SchemaEntry): string[] {
    const validator = this.validator(version, entry);
    let document: XmlDocument | undefined;
    try {
      document = XmlDocument.fromBuffer(xml, { option: ParseOption.XML_PARSE_NONET | ParseOption.XML_PARSE_NO_XXE });
      validator.validate(document);
      return [];
    } catch (error) {
      if (!(error instanceof XmlLibError)) throw error;
      return error.details.slice(0, MAX_VIOLATIONS).map((detail) => `line ${detail.line}: ${detail.message.trim()}`);
    } finally {
      document?.dispose();
    }
  }

  /**
   * The same in slices. A long list is validated a thousand entries at a time, each time with what stands around the
   * list; that comes to the same, for what a schema says of an entry does not depend on the others, and their number is
   * checked before.
   */
  *violationsInSlices(reading: DocumentReading, version: string, entry: SchemaEntry): Generator<void, string[]> {
    const { text, cuts } = reading;
    const { from, ends } = cuts;
    if (ends.length <= SLICE_ENTRIES) return this.violations(Buffer.from(text), version, entry);
    const head = text.slice(0, from);
    const tail = text.slice(ends.at(-1));
    const found: string[] = [];
    for (let at = 0; at < ends.length && found.length === 0; at += SLICE_ENTRIES) {
      const start = at === 0 ? from : (ends[at - 1] as number);
      const piece = text.slice(start, ends[Math.min(at + SLICE_ENTRIES, ends.length) - 1]);
      const skipped = start === from ? 0 : linesIn(text, from, start);
      for (const violation of this.violations(Buffer.from(head + piece + tail), version, entry)) {
        found.push(
          violation.replace(
            /^line (\d+)/,
            (_, line: string) => `line ${Number(line) + (Number(line) > linesIn(head, 0, head.length) ? skipped : 0)}`,
          ),
        );
      }
      yield;
    }
    return found;
  }

  dispose(): void {
    for (const validator of this.validators.values()) validator.dispose();
    this.validators.clear();
  }

  private index(version: string): Map<number, SchemaEntry> | undefined {
    if (!/^\d{1,2}\.\d{1,3}$/.test(version)) return undefined;
    const known = this.entries.get(version);
    if (known !== undefined) return known;
    const file = join(this.folder, version, 'index.json');
    if (!existsSync(file)) return undefined;
    const parsed = indexShape.safeParse(readJsonFile(file));
    if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
    const index = new Map(parsed.data.map((entry) => [entry.docType, entry]));
    this.entries.set(version, index);
    this.registerFiles(version, parsed.data);
    return index;
  }

  private validator(version: string, entry: SchemaEntry): XsdValidator {
    const url = schemaUrl(version, entry.file);
    const known = this.validators.get(url);
    if (known !== undefined) return known;
    const schema = XmlDocument.fromBuffer(readFileSync(join(this.folder, version, entry.file)), { url });
    try {
      const validator = XsdValidator.fromDoc(schema);
      this.validators.set(url, validator);
      return validator;
    } finally {
      schema.dispose();
    }
  }

  /** Schemas include each other by file name; only files of the set can be named. */
  private registerFiles(version: string, entries: SchemaEntry[]): void {
    const folder = join(this.folder, version);
    const names = new Set(entries.map((entry) => entry.file));
    const buffers: Record<string, Uint8Array> = {};
    for (const name of names) this.addIncludes(folder, name, names);
    for (const name of names) buffers[schemaUrl(version, name)] = readFileSync(join(folder, name));
    xmlRegisterInputProvider(new XmlBufferInputProvider(buffers));
  }

  private addIncludes(folder: string, name: string, names: Set<string>): void {
    names.add(name);
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, included] of text.matchAll(/schemaLocation="([^"/\\]+)"/g)) {
      if (included !== undefined && !names.has(included)) this.addIncludes(folder, included, names);
    }
  }
}

const schemaUrl = (version: string, file: string): string => `sandbox-schema:///${version}/${file}`;

/** Line breaks between two places. */
function linesIn(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
