import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { PedigreeError } from '#kernel';

export const FORMAT = 'pedigree-backup/1';

/** The first line: what the backup is of. */
export interface BackupHeader {
  format: typeof FORMAT;
  installationId: string;
  softwareVersion: string;
  /** Applied in the database, as `<set>/<file>`. */
  migrations: string[];
  /** By the clock of the database. */
  takenAt: string;
  /** Position of the newest event in it. */
  logHead: string;
}

/** What follows: tables, and their rows as JSON texts that PostgreSQL made. */
export type Piece = { table: string; columns: string[] } | { rows: string[] };

export interface BackupSummary {
  header: BackupHeader;
  /** Rows by table. */
  rows: Record<string, number>;
  /** Of everything before the last line, uncompressed. */
  sha256: string;
}

/** Cheap, and half as long: text compresses well at any level, and the database should not wait for it. */
const GZIP_LEVEL = 3;
/** Longest line that is read: a row of evidence in hexadecimal. */
const MOST_LINE_BYTES = 500_000_000;
const LINE_FEED = 0x0a;

/**
 * Writes the file under another name, to which nobody else writes, forces it to the disk and gives it its name, if that
 * is still free. Throws `invalid_parameter` where it is taken.
 */
export async function writeBackup(
  file: string,
  header: BackupHeader,
  pieces: AsyncIterable<Piece>,
  { linkFile = link }: { linkFile?: typeof link } = {},
): Promise<BackupSummary> {
  if (existsSync(file)) throw taken(file);
  const part = `${file}.${randomBytes(6).toString('hex')}.part`;
  try {
    const summary = await writePart(part, header, pieces);
    await linkFile(part, file)
      .catch((error: NodeJS.ErrnoException) =>
        NO_LINKS.has(error.code) ? nameWithoutLinks(part, file) : Promise.reject(error),
      )
      .catch((error: NodeJS.ErrnoException) => Promise.reject(error.code === 'EEXIST' ? taken(file) : error));
    await toDisk(dirname(file));
    return summary;
  } finally {
    await rm(part, { force: true });
  }
}

/** What a file system without hard links answers: FAT of an external disk, and many a share. */
const NO_LINKS = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** In two steps, neither of which overwrites a backup. A crash between them leaves an empty file, which is damaged. */
async function nameWithoutLinks(part: string, file: string): Promise<void> {
  await (await open(file, 'wx', 0o600)).close();
  try {
    await rename(part, file);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Writes all of it into this file, and forces it to the disk. */
export async function writePart(
  part: string,
  header: BackupHeader,
  pieces: AsyncIterable<Piece>,
): Promise<BackupSummary> {
  const summary: BackupSummary = { header, rows: {}, sha256: '' };
  await pipeline(
    Readable.from(textOf(summary, pieces), { objectMode: false, highWaterMark: 1 << 20 }),
    createGzip({ level: GZIP_LEVEL }),
    createWriteStream(part, { mode: 0o600 }),
  );
  await toDisk(part);
  return summary;
}

const taken = (file: string): PedigreeError =>
  new PedigreeError(
    'invalid_parameter',
    `${file} is there already, and a backup is never overwritten; choose another name`,
    { field: 'file' },
  );

async function toDisk(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

async function* textOf(summary: BackupSummary, pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const hashed = (lines: string[]): Buffer => {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    hash.update(bytes);
    return bytes;
  };
  yield hashed([JSON.stringify(summary.header)]);
  let table = '';
  for await (const piece of pieces) {
    if ('table' in piece) {
      table = piece.table;
      summary.rows[table] = 0;
      yield hashed([JSON.stringify(['table', piece.table, piece.columns])]);
    } else if (piece.rows.length > 0) {
      summary.rows[table] = (summary.rows[table] ?? 0) + piece.rows.length;
      yield hashed(piece.rows);
    }
  }
  summary.sha256 = hash.digest('hex');
  yield Buffer.from(`${JSON.stringify(['end', summary.rows, summary.sha256])}\n`);
}

/**
 * Reads the whole file and compares it with what it says of itself. Throws PedigreeError where it is damaged, cut off
 * or something else.
 */
export async function checkBackup(file: string): Promise<BackupSummary> {
  const reading = readBackup(file);
  for (;;) {
    const next = await reading.next();
    if (next.done === true) return next.value;
  }
}

/**
 * The header as the first value, then the pieces; returns what `checkBackup` does. Throws PedigreeError at the first
 * thing that is wrong.
 */
export async function* readBackup(file: string): AsyncGenerator<BackupHeader | Piece, BackupSummary> {
  const hash = createHash('sha256');
  const rows: Record<string, number> = {};
  let header: BackupHeader | undefined;
  let table: string | undefined;
  // The last line is known by nothing coming after it, so each line waits for the next.
  let waiting: Buffer | undefined;
  for await (const lines of linesOf(file)) {
    let run: string[] = [];
    for (const line of lines) {
      const settled = waiting;
      waiting = line;
      if (settled === undefined) continue;
      hash.update(settled).update('\n');
      if (header === undefined) {
        header = headerOf(settled, file);
        yield header;
      } else if (settled[0] === 0x5b) {
        if (run.length > 0) yield { rows: run };
        run = [];
        const piece = tableOf(settled, file);
        table = piece.table;
        rows[table] = 0;
        yield piece;
      } else {
        if (table === undefined) throw damaged(file, 'a row stands before any table');
        rows[table] = (rows[table] ?? 0) + 1;
        run.push(settled.toString('utf8'));
      }
    }
    if (run.length > 0) yield { rows: run };
  }
  if (header === undefined) {
    // A file of one line can only be judged by that line: it says at least whether it is a backup.
    headerOf(waiting ?? Buffer.alloc(0), file);
    throw damaged(file, 'it ends before its end');
  }
  return endOf(waiting as Buffer, { file, header, rows, sha256: hash.digest('hex') });
}

function headerOf(line: Buffer, file: string): BackupHeader {
  const header = parsed(line) as Partial<BackupHeader> | undefined;
  const format: unknown = header?.format;
  if (header === undefined || format !== FORMAT)
    throw new PedigreeError(
      'invalid_parameter',
      `${file} is not a backup of the format ` +
        `${FORMAT}${typeof format === 'string' ? `, but of ${format.slice(0, 50)}` : ''}`,
      { field: 'file' },
    );
  const { installationId, softwareVersion, migrations, takenAt, logHead } = header;
  const isWhole =
    [installationId, softwareVersion, takenAt, logHead].every((one) => typeof one === 'string') &&
    Array.isArray(migrations) &&
    /^\d{1,19}$/.test(logHead ?? '');
  if (!isWhole) throw damaged(file, 'its first line lacks something');
  return header as BackupHeader;
}

function tableOf(line: Buffer, file: string): { table: string; columns: string[] } {
  const [kind, table, columns] = (parsed(line) ?? []) as [unknown, unknown, unknown];
  if (
    kind === 'table' &&
    typeof table === 'string' &&
    Array.isArray(columns) &&
    columns.every((one) => typeof one === 'string')
  )
    return { table, columns: columns as string[] };
  throw damaged(file, 'a line is neither a table nor a row');
}

function endOf(
  line: Buffer,
  read: { file: string; header: BackupHeader; rows: Record<string, number>; sha256: string },
): BackupSummary {
  const { file, header, rows, sha256 } = read;
  const [kind, counted, digest] = (line[0] === 0x5b ? (parsed(line) ?? []) : []) as [unknown, unknown, unknown];
  if (kind !== 'end') throw damaged(file, 'it ends before its end');
  if (digest !== sha256)
    throw damaged(file, `its content has the SHA-256 ${sha256}, and should have ${String(digest)}`);
  if (JSON.stringify(counted) !== JSON.stringify(rows))
    throw damaged(file, 'it has other numbers of rows than it says');
  return { header, rows, sha256 };
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}

const damaged = (file: string, what: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${file} is damaged: ${what}; nothing of it can be trusted`, {
    field: 'file',
  });

/** The lines of the file, as many together as come together. */
async function* linesOf(file: string): AsyncGenerator<Buffer[]> {
  const source = createReadStream(file);
  const chunks = source.pipe(createGunzip({ chunkSize: 1 << 18 }));
  source.on('error', (error) => chunks.destroy(error));
  let begun: Buffer[] = [];
  let begunBytes = 0;
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      const lines: Buffer[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        lines.push(Buffer.concat([...begun, chunk.subarray(from, at)]));
        begun = [];
        begunBytes = 0;
        from = at + 1;
      }
      begun.push(chunk.subarray(from));
      begunBytes += chunk.length - from;
      if (begunBytes > MOST_LINE_BYTES) throw damaged(file, `a line has more than ${MOST_LINE_BYTES} bytes`);
      if (lines.length > 0) yield lines;
    }
  } catch (error) {
    if (error instanceof PedigreeError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new PedigreeError('invalid_parameter', `${file}: ${message}`, { field: 'file' });
    throw damaged(file, message);
  } finally {
    source.destroy();
  }
  if (begunBytes > 0) throw damaged(file, 'it ends in the middle of a line');
}
