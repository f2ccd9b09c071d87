import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesOfFile } from '#duckdb';
import { PedigreeError, type Sha256 } from '#kernel';
import type { Mapping } from './mapping.js';
import { plainLines, type PlainLines } from './plain.js';
import { MOST_RECORD_BYTES, RecordSplitter, type SplitterOptions } from './splitter.js';

/** Text that DuckDB reads at once: some hundred thousand rows. */
const CHUNK_BYTES = 24 << 20;
/** Text that is cut at once. Lines may be short, and get a number each. */
const SLICE_BYTES = 64 << 10;
/** Most that the records of a slice and of the rest before it take, of two bytes each and eleven of a number. */
const MOST_CUT_BYTES = 8 * (SLICE_BYTES + 2 * MOST_RECORD_BYTES);
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
 * refused row by row. Other encodings are transcoded, because DuckDB's packaged build knows few of them. The buffer is
 * used again.
 */
async function* utf8Of(path: string, encoding: string, hash?: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  const isUtf8 = decoder.encoding === 'utf-8';
  let isFirst = true;
  for await (const bytes of bytesOfFile(path)) {
    hash?.(bytes);
    if (isUtf8) yield isFirst && isBom(bytes) ? bytes.subarray(3) : bytes;
    else yield Buffer.from(decoder.decode(bytes, { stream: true }), 'utf8');
    isFirst = false;
  }
  const end = isUtf8 ? '' : decoder.decode();
  if (end !== '') yield Buffer.from(end, 'utf8');
}

const isBom = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

/** A text file for DuckDB: each record with the number of its line before it. */
export interface NumberedChunk {
  file: string;
  /** Where each record ends in the file. */
  ends: readonly number[];
  /** Bytes of the source that were read so far. */
  bytes: number;
}

/** A text file for DuckDB as it stands in the source: each line is a record. */
export interface PlainChunk extends PlainLines {
  file: string;
  /** Number of its first line in the source. */
  firstLine: number;
  bytes: number;
}

export type Chunk = NumberedChunk | PlainChunk;
export const isPlain = (chunk: Chunk): chunk is PlainChunk => 'firstLine' in chunk;

/** Two chunks with half the records each. */
async function* halvesOf({ file, ends, bytes }: NumberedChunk): AsyncGenerator<NumberedChunk> {
  const text = await readFile(file);
  const middle = ends.length >> 1;
  const cut = ends[middle - 1] ?? 0;
  const halves = [
    { file: `${file}0`, ends: ends.slice(0, middle), text: text.subarray(0, cut) },
    { file: `${file}1`, ends: ends.slice(middle).map((end) => end - cut), text: text.subarray(cut) },
  ];
  for (const half of halves) {
    await writeFile(half.file, half.text);
    yield { file: half.file, ends: half.ends, bytes };
  }
}

/** The number of the line at which a chunk begins. */
export const firstLineOf = async ({ file }: NumberedChunk): Promise<number> =>
  Number.parseInt(await readFile(file, 'latin1'));

/** Between the number of a line and the rest; no JSON text can hold it. */
export const NDJSON_DELIMITER = '\u0001';

/**
 * Reads a text file in chunks: as they stand where each line is a record, else cut into records. The first record of a
 * CSV file with a header goes to `header` instead.
 */
export class TextSource {
  private written = 0;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  header: string | undefined;
  /** The first record of a file without a header. */
  first: string | undefined;

  constructor(private readonly source: SourceFile) {}

  async *chunks(): AsyncGenerator<Chunk> {
    const { path, mapping } = this.source;
    const cutter = this.cutter();
    const text = utf8Of(path, mapping.encoding, (bytes) => {
      this.hash.update(bytes);
      this.bytes += bytes.length;
    });
    for await (const block of blocksOf(text)) yield* this.chunksOf(block, cutter);
    cutter.splitter.end();
    if (cutter.hasRecords) yield await this.numbered(cutter);
  }

  /** What a chunk holds in smaller ones, where DuckDB does not read it as it was cut. */
  async *finer(chunk: Chunk): AsyncGenerator<NumberedChunk> {
    if (!isPlain(chunk)) return yield* halvesOf(chunk);
    const cutter = this.cutter(chunk.firstLine);
    yield* this.cut(await readFile(chunk.file), cutter);
    if (cutter.hasRecords) yield await this.numbered(cutter);
  }

  facts(): SourceFacts {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }

  private async *chunksOf(block: Buffer, cutter: Cutter): AsyncGenerator<Chunk> {
    const { splitter } = cutter;
    const text = this.behindHeader(block, splitter);
    const plain = splitter.isBetween ? plainLines(text, this.quote()) : undefined;
    if (plain === undefined) return yield* this.cut(text, cutter);
    if (cutter.hasRecords) yield await this.numbered(cutter);
    this.first ??= text.toString('utf8', 0, text.indexOf(plain.lineEnd));
    const firstLine = splitter.line;
    splitter.line += plain.lines;
    yield { ...plain, firstLine, file: await this.write(text), bytes: this.bytes };
  }

  private behindHeader(block: Buffer, splitter: RecordSplitter): Buffer {
    let at = 0;
    while (this.wantsHeader() && splitter.isBetween && at < block.length) {
      const end = block.indexOf(LF, at) + 1 || block.length;
      splitter.push(block.subarray(at, end));
      at = end;
    }
    return block.subarray(at);
  }

  private async *cut(text: Buffer, cutter: Cutter): AsyncGenerator<NumberedChunk> {
    for (let at = 0; at < text.length; at += SLICE_BYTES) {
      cutter.splitter.push(text.subarray(at, at + SLICE_BYTES));
      if (cutter.isFull) yield await this.numbered(cutter);
    }
  }

  private async numbered(cutter: Cutter): Promise<NumberedChunk> {
    const { text, ends } = cutter.take();
    return { file: await this.write(text), ends, bytes: this.bytes };
  }

  private async write(text: Buffer): Promise<string> {
    const file = join(this.source.folder, `chunk-${(this.written += 1)}.txt`);
    await writeFile(file, text);
    return file;
  }

  private wantsHeader(): boolean {
    const { format, header } = this.source.mapping;
    return format === 'csv' && header && this.header === undefined;
  }

  private quote(): number | undefined {
    const { format, quote } = this.source.mapping;
    return format === 'csv' && quote !== '' ? quote.charCodeAt(0) : undefined;
  }

  private cutter(line = 1): Cutter {
    const { mapping, refuse } = this.source;
    const delimiter = mapping.format === 'csv' ? mapping.delimiter : NDJSON_DELIMITER;
    const quote = this.quote();
    const record = (number: number, bytes: Buffer): void => {
      if (this.wantsHeader()) this.header = bytes.toString('utf8');
      // DuckDB would refuse the whole file.
      else if (bytes.includes(CR) && (quote === undefined || !bytes.includes(quote))) refuse(number, LONE_RETURN);
      else {
        this.first ??= bytes.toString('utf8');
        cutter.add(`${number}${delimiter}`, bytes);
      }
    };
    const cutter = new Cutter({ quote, delimiter: delimiter.charCodeAt(0), record, refuse, line });
    return cutter;
  }
}

/** A splitter, and its records with the number of its line before each. */
class Cutter {
  readonly splitter: RecordSplitter;
  /** Made when the first record comes: most files need none. */
  private buffer: Buffer | undefined;
  private used = 0;
  private ends: number[] = [];

  constructor(options: SplitterOptions) {
    this.splitter = new RecordSplitter(options);
  }

  get hasRecords(): boolean {
    return this.used > 0;
  }

  get isFull(): boolean {
    return this.used > CHUNK_BYTES;
  }

  add(prefix: string, bytes: Buffer): void {
    this.buffer ??= Buffer.alloc(CHUNK_BYTES + MOST_CUT_BYTES);
    let at = this.used + this.buffer.write(prefix, this.used, 'latin1');
    at += bytes.copy(this.buffer, at);
    this.buffer[at] = LF;
    this.used = at + 1;
    this.ends.push(this.used);
  }

  /** What was added, until more is. */
  take(): { text: Buffer; ends: readonly number[] } {
    const taken = { text: (this.buffer as Buffer).subarray(0, this.used), ends: this.ends };
    [this.used, this.ends] = [0, []];
    return taken;
  }
}

/** A text in blocks of whole lines, as far as it has any; the last one may lack its end. */
async function* blocksOf(text: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let used = 0;
  for await (const bytes of text) {
    for (let at = 0; at < bytes.length;) {
      const copied = bytes.copy(buffer, used, at);
      [at, used] = [at + copied, used + copied];
      if (used < CHUNK_BYTES) continue;
      const end = buffer.lastIndexOf(LF) + 1 || used;
      yield buffer.subarray(0, end);
      used = buffer.copy(buffer, 0, end, used);
    }
  }
  const end = buffer.subarray(0, used).lastIndexOf(LF) + 1;
  if (end > 0) yield buffer.subarray(0, end);
  if (end < used) yield buffer.subarray(end, used);
}

export async function digestOfSource(path: string): Promise<SourceFacts> {
  const hash = createHash('sha256');
  for await (const bytes of bytesOfFile(path)) hash.update(bytes);
  return { bytes: (await stat(path)).size, sha256: hash.digest('hex') };
}

/** One chunk ahead: the next is made while DuckDB reads this one. */
export async function* ahead(chunks: AsyncGenerator<Chunk>): AsyncGenerator<Chunk> {
  let next = chunks.next();
  try {
    for (;;) {
      const { value, done } = await next;
      if (done === true) return;
      next = chunks.next();
      // Its own failure is thrown when it is awaited.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await chunks.return(undefined);
  }
}

/** @throws PedigreeError `not_found` */
export async function mustBeFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new PedigreeError('not_found', `${path} is not a file`, { file: path });
}

/**
 * What reading a file gives, if nobody has changed it meanwhile. `again`: it is opened more than once, so that another
 * in its place would be read, too.
 * @throws PedigreeError `invalid_parameter`
 */
export async function unchanged<T>(path: string, { again }: { again: boolean }, read: () => Promise<T>): Promise<T> {
  const before = await stat(path);
  const result = await read();
  const after = await stat(path).catch(() => undefined);
  const isSame = after?.ino === before.ino ? after.size === before.size && after.mtimeMs === before.mtimeMs : !again;
  if (isSame) return result;
  throw new PedigreeError('invalid_parameter', `${path} was changed while it was read`, { file: path });
}
