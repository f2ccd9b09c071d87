import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PedigreeError, type Sha256 } from '#kernel';
import type { Mapping } from './mapping.js';
import { MOST_RECORD_BYTES, plainLines, RecordSplitter, type PlainLines, type SplitterOptions } from './splitter.js';

const READ_BYTES = 1 << 20;
/** Text that DuckDB reads at once: some hundred thousand rows. */
const CHUNK_BYTES = 24 << 20;
/** Text that is cut at once. */
const PIECE_BYTES = 64 << 10;
/** What may come of one piece and what was left before it: at worst lines of one byte, with a number before each. */
const MOST_CUT_BYTES = 8 * (PIECE_BYTES + 2 * MOST_RECORD_BYTES);
const LF = 10;
const CR = 13;
const LONE_RETURN = 'a carriage return stands within the line';

export interface SourceFile {
  path: string;
  mapping: Mapping;
  /** For the chunks. */
  folder: string;
  refuse: (line: number, reason: string) => void;
}

/** What was read, once all of it was. */
export interface SourceFacts {
  bytes: number;
  sha256: Sha256;
}

/**
 * The bytes of a text file as UTF-8, without a byte order mark. UTF-8 goes through as it is: what is not valid is
 * refused row by row. Other encodings are transcoded, because DuckDB's packaged build knows few of them.
 */
export async function* utf8Of(path: string, encoding: string, hash?: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  const isUtf8 = decoder.encoding === 'utf-8';
  let isFirst = true;
  for await (const read of createReadStream(path, { highWaterMark: READ_BYTES })) {
    const bytes = read as Buffer;
    hash?.(bytes);
    if (isUtf8) yield isFirst && isBom(bytes) ? bytes.subarray(3) : bytes;
    else yield Buffer.from(decoder.decode(bytes, { stream: true }), 'utf8');
    isFirst = false;
  }
  const end = isUtf8 ? '' : decoder.decode();
  if (end !== '') yield Buffer.from(end, 'utf8');
}

const isBom = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

/** A text file for DuckDB. */
export interface Chunk {
  file: string;
  records: number;
  /** Bytes of the source that were read so far. */
  bytes: number;
  /** Lines as they stand in the source, each a record. Absent: each record has the number of its line before it. */
  plain?: Plain;
}

interface Plain {
  /** Number of the first line. */
  line: number;
  newLine: '\n' | '\r\n';
}

/** How text is divided. Only tests want it otherwise. */
export interface Dividing {
  chunkBytes: number;
  /** Also text that needs no cutting is cut. */
  alwaysCut: boolean;
}
const DIVIDING: Dividing = { chunkBytes: CHUNK_BYTES, alwaysCut: false };

/** Between the number of a line and the rest; no JSON text can hold it. */
export const NDJSON_DELIMITER = '\u0001';

/**
 * Reads a text file in chunks. Lines that are records for certain go to DuckDB as they are, and others are cut. The
 * first record of a CSV file with a header goes to `header` instead.
 */
export class TextSource {
  private readonly dividing: Dividing;
  private readonly block: Buffer;
  private used = 0;
  private readonly cutter: Cutter;
  private blocks = 0;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  header: string | undefined;
  /** The first record of a file without a header. */
  first: string | undefined;

  constructor(
    private readonly source: SourceFile,
    dividing: Partial<Dividing> = {},
  ) {
    this.dividing = { ...DIVIDING, ...dividing };
    this.block = Buffer.allocUnsafe(this.dividing.chunkBytes + READ_BYTES + 1);
    this.cutter = this.cutterFrom(1, join(source.folder, 'chunk'));
  }

  async *chunks(): AsyncGenerator<Chunk> {
    const { path, mapping } = this.source;
    const text = utf8Of(path, mapping.encoding, (bytes) => {
      this.hash.update(bytes);
      this.bytes += bytes.length;
    });
    for await (const bytes of text) {
      // Transcoded text may be longer than what was read.
      const step = Math.min(READ_BYTES, this.dividing.chunkBytes);
      for (let at = 0; at < bytes.length; at += step) {
        this.used += bytes.copy(this.block, this.used, at, at + step);
        if (this.used > this.dividing.chunkBytes) yield* this.divide();
      }
    }
    yield* this.divide();
    // A last line without its end.
    yield* this.divide();
    yield* this.cutter.end();
  }

  facts(): SourceFacts {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }

  /** Cuts a plain chunk that DuckDB did not take as it is. */
  async *cutAgain({ file, plain, bytes }: Chunk): AsyncGenerator<Chunk> {
    const cutter = this.cutterFrom(plain?.line ?? 1, `${file}-cut`, bytes);
    yield* cutter.push(await readFile(file));
    yield* cutter.end();
  }

  /** Gives out the lines of the block that have ended, or what there is where none has. */
  private async *divide(): AsyncGenerator<Chunk> {
    const lastEnd = this.block.subarray(0, this.used).lastIndexOf(LF);
    const stop = lastEnd < 0 ? this.used : lastEnd + 1;
    const from = yield* this.takeHeader(stop);
    const text = this.block.subarray(from, stop);
    const plain = this.dividing.alwaysCut || !this.cutter.isBetweenRecords ? undefined : plainLines(text, this.quote);
    if (plain === undefined) yield* this.cutter.push(text);
    else yield await this.writePlain(text, plain);
    this.block.copyWithin(0, stop, this.used);
    this.used -= stop;
  }

  /** Line by line, until the header is there; where the rest begins. */
  private async *takeHeader(stop: number): AsyncGenerator<Chunk, number> {
    const { format, header } = this.source.mapping;
    let from = 0;
    while (format === 'csv' && header && this.header === undefined && from < stop) {
      const lineEnd = this.block.indexOf(LF, from);
      const next = lineEnd < 0 || lineEnd >= stop ? stop : lineEnd + 1;
      yield* this.cutter.push(this.block.subarray(from, next));
      from = next;
    }
    return from;
  }

  private async writePlain(text: Buffer, { lines, newLine }: PlainLines): Promise<Chunk> {
    this.first ??= text.toString('utf8', 0, text.indexOf(newLine));
    const file = join(this.source.folder, `block-${(this.blocks += 1)}.txt`);
    await writeFile(file, text);
    return { file, records: lines, bytes: this.bytes, plain: { line: this.cutter.skip(lines), newLine } };
  }

  private get quote(): number | undefined {
    const { format, quote } = this.source.mapping;
    return format === 'csv' && quote !== '' ? quote.charCodeAt(0) : undefined;
  }

  private cutterFrom(line: number, file: string, bytes?: number): Cutter {
    const { mapping, refuse } = this.source;
    const isCsv = mapping.format === 'csv';
    const delimiter = isCsv ? mapping.delimiter : NDJSON_DELIMITER;
    const isHeader = (record: Buffer): boolean => {
      if (!isCsv || !mapping.header || this.header !== undefined) {
        this.first ??= record.toString('utf8');
        return false;
      }
      this.header = record.toString('utf8');
      return true;
    };
    return new Cutter(
      { line, quote: this.quote, delimiter: delimiter.charCodeAt(0), refuse },
      { file, chunkBytes: this.dividing.chunkBytes, bytes: () => bytes ?? this.bytes, isHeader },
    );
  }
}

interface CutterOptions {
  /** Where chunks go: the beginning of their names. */
  file: string;
  chunkBytes: number;
  /** Bytes of the source that were read so far. */
  bytes: () => number;
  isHeader: (record: Buffer) => boolean;
}

/** Cuts text into records, each with the number of its line before it. */
class Cutter {
  private readonly splitter: RecordSplitter;
  private readonly prefixEnd: string;
  private out = Buffer.alloc(0);
  private used = 0;
  private records = 0;
  private written = 0;

  constructor(
    splitting: Omit<SplitterOptions, 'record'>,
    private readonly options: CutterOptions,
  ) {
    const { quote, refuse } = splitting;
    const record = (line: number, bytes: Buffer): void => {
      // DuckDB would refuse the whole file.
      if (bytes.includes(CR) && (quote === undefined || !bytes.includes(quote))) refuse(line, LONE_RETURN);
      else this.add(line, bytes);
    };
    this.splitter = new RecordSplitter({ ...splitting, record });
    this.prefixEnd = String.fromCharCode(splitting.delimiter);
  }

  get isBetweenRecords(): boolean {
    return this.splitter.isBetweenRecords;
  }

  /** Goes past lines that need no cutting; the number of the first. */
  skip(lines: number): number {
    return this.splitter.skip(lines);
  }

  async *push(bytes: Buffer): AsyncGenerator<Chunk> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.splitter.push(bytes.subarray(at, at + PIECE_BYTES));
      if (this.used > this.options.chunkBytes) yield await this.flush();
    }
  }

  async *end(): AsyncGenerator<Chunk> {
    this.splitter.end();
    if (this.used > 0) yield await this.flush();
  }

  private add(line: number, bytes: Buffer): void {
    if (this.options.isHeader(bytes)) return;
    if (this.out.length === 0) this.out = Buffer.allocUnsafe(this.options.chunkBytes + MOST_CUT_BYTES);
    let at = this.used + this.out.write(`${line}${this.prefixEnd}`, this.used, 'latin1');
    at += bytes.copy(this.out, at);
    this.out[at] = LF;
    this.used = at + 1;
    this.records += 1;
  }

  private async flush(): Promise<Chunk> {
    const file = `${this.options.file}-${(this.written += 1)}.txt`;
    await writeFile(file, this.out.subarray(0, this.used));
    const chunk = { file, records: this.records, bytes: this.options.bytes() };
    [this.used, this.records] = [0, 0];
    return chunk;
  }
}

export async function digestOfSource(path: string): Promise<SourceFacts> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(bytes as Buffer);
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}

/** One chunk ahead: the next is cut while DuckDB reads this one. */
export async function ahead(chunks: AsyncGenerator<Chunk>, load: (chunk: Chunk) => Promise<void>): Promise<void> {
  let next = chunks.next();
  for (;;) {
    const { value, done } = await next;
    if (done === true) return;
    next = chunks.next();
    // Its own failure is thrown when it is awaited.
    next.catch(() => undefined);
    await load(value);
    await rm(value.file, { force: true });
  }
}

/** @throws PedigreeError `not_found` */
export async function mustBeFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new PedigreeError('not_found', `${path} is not a file`, { file: path });
}
