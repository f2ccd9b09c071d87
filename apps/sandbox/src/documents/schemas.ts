import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

const indexShape = z.array(z.object({ docType: z.number(), element: z.string(), maxItems: z.number().optional() }));

/** One document type of a schema set. */
export interface SchemaEntry {
  docType: number;
  element: string;
  maxItems?: number | undefined;
}

const MAX_VIOLATIONS = 20;
const SLICE_ENTRIES = 1000;

/**
 * The schema set of the documents, compiled when first needed. Where it is absent nothing is validated: the sandbox
 * still works on a bare copy, and says so at start.
 */
export class Schemas {
  /** By action_id; undefined without a set. */
  private readonly index: ReadonlyMap<number, SchemaEntry> | undefined;
  private compiled: XsdValidator | undefined;

  /** @param versions those that the registry takes. */
  constructor(
    private readonly folder: string,
    readonly versions: readonly string[],
  ) {
    this.index = readIndex(join(folder, 'index.json'));
  }

  get areThere(): boolean {
    return this.index !== undefined;
  }

  /** The type's entry, or undefined when the set does not know it. */
  entry(docType: number): SchemaEntry | undefined {
    return this.index?.get(docType);
  }

  /** What the schema finds wrong, each with its line; empty when the document is valid or there is no schema. */
  violations(xml: Buffer): string[] {
    const validator = this.validator();
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
   * list; that comes to the same where no item is named twice, for then what a schema says of an entry does not depend
   * on the others. Their number is checked before.
   */
  *violationsInSlices({ text, cuts, content }: DocumentReading): Generator<void, string[]> {
    const { from, ends } = cuts;
    if (ends.length <= SLICE_ENTRIES || !isEachOnce(content)) return this.violations(Buffer.from(text));
    const head = text.slice(0, from);
    const tail = text.slice(ends.at(-1));
    const found: string[] = [];
    for (let at = 0; at < ends.length && found.length === 0; at += SLICE_ENTRIES) {
      const start = at === 0 ? from : (ends[at - 1] as number);
      const piece = text.slice(start, ends[Math.min(at + SLICE_ENTRIES, ends.length) - 1]);
      const skipped = start === from ? 0 : linesIn(text, from, start);
      for (const violation of this.violations(Buffer.from(head + piece + tail))) {
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
    this.compiled?.dispose();
    this.compiled = undefined;
  }

  /** Compiled when first asked for, which holds the process for a fifth of a second. */
  validator(): XsdValidator {
    if (this.compiled !== undefined) return this.compiled;
    provide(this.folder);
    const root = XmlDocument.fromBuffer(readFileSync(join(this.folder, ROOT_FILE)), { url: `${PLACE}${ROOT_FILE}` });
    try {
      return (this.compiled = XsdValidator.fromDoc(root));
    } finally {
      root.dispose();
    }
  }
}

/** The parser takes a few providers in the life of a process, and gives none back. */
const provided = new Set<string>();

function provide(folder: string): void {
  if (provided.has(folder)) return;
  provided.add(folder);
  const names = readdirSync(folder).filter((name) => name.endsWith('.xsd'));
  const files = names.map((name) => [`${PLACE}${name}`, readFileSync(join(folder, name))]);
  xmlRegisterInputProvider(new XmlBufferInputProvider(Object.fromEntries(files)));
}

const isEachOnce = ({ items }: DocumentReading['content']): boolean =>
  new Set(items.map(({ id }) => id)).size === items.length;

const ROOT_FILE = 'documents.xsd';
/** A made-up place, so that the files can include each other and nothing else on this machine. */
const PLACE = 'sandbox-schema:///';

function readIndex(file: string): ReadonlyMap<number, SchemaEntry> | undefined {
  if (!existsSync(file)) return undefined;
  const parsed = indexShape.safeParse(readJsonFile(file));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  return new Map(parsed.data.map((entry) => [entry.docType, entry]));
}

/** Line breaks between two places. */
function linesIn(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
