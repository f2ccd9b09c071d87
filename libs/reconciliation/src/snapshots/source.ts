import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PedigreeError, type Sha256 } from '#kernel';
import type { Mapping } from './mapping.js';
import { MOST_RECORD_BYTES, RecordSplitter, type SplitterOptions } from './splitter.js';

const READ_BYTES = 1 << 20;
/** Text that DuckDB reads at once: some hundred thousand rows. */
const CHUNK_BYTES = 24 << 20;
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

/** A text file for DuckDB: each record with the number of its line before it. */
export interface Chunk {
  file: string;
  /** Where each record ends in the file. */
  ends: readonly number[];
  /** Bytes of the source that were read so far. */
  bytes: number;
}

/** Two chunks with half the records each. */
export async function halvesOf({ file, ends, bytes }: Chunk): Promise<Chunk[]> {
  const text = await readFile(file);
  const middle = ends.length >> 1;
  const cut = ends[middle - 1] ?? 0;
  const halves = [
    { file: `${file}0`, ends: ends.slice(0, middle), text: text.subarray(0, cut) },
    { file: `${file}1`, ends: ends.slice(middle).map((end) => end - cut), text: text.subarray(cut) },
  ];
  for (const half of halves) await writeFile(half.file, half.text);
  return halves.map((half) => ({ file: half.file, ends: half.ends, bytes }));
}

/** The number of the line at which a chunk begins. */
export const firstLineOf = async ({ file }: Chunk): Promise<number> => Number.parseInt(await readFile(file, 'latin1'));

/** Between the number of a line and the rest; no JSON text can hold it. */
export const NDJSON_DELIMITER = '\u0001';

/** Reads a text file in chunks. The first record of a CSV file with a header goes to `header` instead. */
export class TextSource {
  private readonly buffer = Buffer.alloc(CHUNK_BYTES + READ_BYTES + 4 * MOST_RECORD_BYTES);
  private used = 0;
  private ends: number[] = [];
  private written = 0;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  header: string | undefined;
  /** The first record of a file without a header. */
  first: string | undefined;

  constructor(private readonly source: SourceFile) {}

  async *chunks(): AsyncGenerator<Chunk> {
    const { path, mapping } = this.source;
    const splitter = new RecordSplitter(this.splitting());
    const text = utf8Of(path, mapping.encoding, (bytes) => {
      this.hash.update(bytes);
      this.bytes += bytes.length;
    });
    for await (const bytes of text) {
      // Transcoded text may be longer than what was read.
      for (let at = 0; at < bytes.length; at += READ_BYTES) {
        splitter.push(bytes.subarray(at, at + READ_BYTES));
        if (this.used > CHUNK_BYTES) yield await this.flush();
      }
    }
    splitter.end();
    if (this.used > 0) yield await this.flush();
  }

  facts(): SourceFacts {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }

  private splitting(): SplitterOptions {
    const { mapping, refuse } = this.source;
    const isCsv = mapping.format === 'csv';
    const delimiter = isCsv ? mapping.delimiter : NDJSON_DELIMITER;
    const quote = isCsv && mapping.quote !== '' ? mapping.quote.charCodeAt(0) : undefined;
    const record = (line: number, bytes: Buffer): void => {
      if (isCsv && mapping.header && this.header === undefined) this.header = bytes.toString('utf8');
      // DuckDB would refuse the whole file.
      else if (bytes.includes(CR) && (quote === undefined || !bytes.includes(quote))) refuse(line, LONE_RETURN);
      else this.add(`${line}${delimiter}`, bytes);
    };
    return { quote, delimiter: delimiter.charCodeAt(0), record, refuse };
  }

  private add(prefix: string, bytes: Buffer): void {
    this.first ??= bytes.toString('utf8');
    let at = this.used + this.buffer.write(prefix, this.used, 'latin1');
    at += bytes.copy(this.buffer, at);
    this.buffer[at] = 10;
    this.used = at + 1;
    this.ends.push(this.used);
  }

  private async flush(): Promise<Chunk> {
    const file = join(this.source.folder, `chunk-${(this.written += 1)}.txt`);
    await writeFile(file, this.buffer.subarray(0, this.used));
    const chunk = { file, ends: this.ends, bytes: this.bytes };
    [this.used, this.ends] = [0, []];
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
