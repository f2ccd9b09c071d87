import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { PedigreeError } from '#kernel';

const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
/** A comment behind the end of the directory may have so many. */
const MOST_COMMENT = 65_535;
/** Of the directory: a zip of one file has a line. */
const MOST_DIRECTORY = 1_048_576;
const END_SIGNATURE = 0x06054b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const ENCRYPTED = 0x0001;
const STORED = 0;
const DEFLATED = 8;
/** Stand where a field of zip64 tells more. */
const ZIP64 = 0xffff_ffff;
const MOST_FILES = 0xffff;

/** The one file in a zip. */
export interface ZippedFile {
  name: string;
  bytes: number;
  checksum: number;
  packedBytes: number;
  method: number;
  /** Where its packed bytes begin. */
  at: number;
}

/** `isDamaged`: reading the bytes anew may help. Otherwise the zip is not what is wanted. */
export class ZipFault extends PedigreeError {
  constructor(
    readonly isDamaged: boolean,
    message: string,
  ) {
    super('invalid_parameter', `the zip ${message}`, {});
  }
}

/**
 * Unpacks the one file of a zip (PKWARE APPNOTE 6.3, 4.3), a piece at a time. The directory at its end is believed, and
 * not what stands before each file; length and CRC-32 of the content are checked against it.
 * @throws ZipFault for a damaged zip, one with another number of files, or more than `maxBytes`, which ends it at once.
 */
export async function unzipOne(path: string, maxBytes: number, into: Writable): Promise<ZippedFile> {
  const file = await directoryOf(path);
  if (file.bytes > maxBytes) throw new ZipFault(false, `holds ${file.bytes} bytes; at most ${maxBytes} are taken`);
  let [bytes, checksum] = [0, 0];
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      checksum = crc32(chunk, checksum);
      if (bytes > file.bytes) return done(new ZipFault(true, `holds more than the ${file.bytes} bytes that it tells`));
      done(null, chunk);
    },
  });
  const packed = () => createReadStream(path, { start: file.at, end: file.at + file.packedBytes - 1 });
  try {
    if (file.packedBytes === 0) await pipeline(Readable.from([]), check, into);
    else if (file.method === STORED) await pipeline(packed(), check, into);
    else await pipeline(packed(), createInflateRaw(), check, into);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') === true || code === 'ERR_STREAM_PREMATURE_CLOSE')
      throw new ZipFault(true, `is damaged: ${message}`);
    throw error;
  }
  if (bytes !== file.bytes || checksum !== file.checksum)
    throw new ZipFault(true, `is damaged: its content is not what its directory says`);
  return file;
}

const isZip64 = (): ZipFault =>
  new ZipFault(false, 'is a zip64: it, or a file in it, has 4 GiB or more, or it has 65,535 files; that is not read');

/** Reads all of it, and keeps nothing. */
export const checkZip = (path: string, maxBytes: number): Promise<ZippedFile> =>
  unzipOne(path, maxBytes, new Writable({ write: (_chunk, _encoding, done) => done() }));

async function directoryOf(path: string): Promise<ZippedFile> {
  const handle = await open(path, 'r');
  try {
    return await readDirectory(handle, (await handle.stat()).size);
  } finally {
    await handle.close();
  }
}

async function readDirectory(handle: FileHandle, size: number): Promise<ZippedFile> {
  const tailBytes = Math.min(size, END_BYTES + MOST_COMMENT);
  const tail = await read(handle, size - tailBytes, tailBytes);
  const end = endIn(tail);
  const [count, bytes, at] = [tail.readUInt16LE(end + 10), tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  if (bytes === ZIP64 || at === ZIP64 || count === MOST_FILES) throw isZip64();
  if (bytes > MOST_DIRECTORY) throw new ZipFault(false, `has a directory of ${bytes} bytes`);
  const directory = await read(handle, at, bytes);
  const files = entriesIn(directory, count).filter(({ name }) => !name.endsWith('/'));
  const [file] = files;
  if (file === undefined || files.length !== 1)
    throw new ZipFault(false, `holds ${files.length} files (${files.map(({ name }) => name).join(', ')}); one is read`);
  return { ...file, at: await contentAt(handle, file, at) };
}

function endIn(tail: Buffer): number {
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1)
    if (tail.readUInt32LE(at) === END_SIGNATURE && tail.readUInt16LE(at + 20) === tail.length - at - END_BYTES)
      return at;
  throw new ZipFault(true, 'is damaged: it has no directory at its end');
}

/** `at` is where the header before the content begins. */
function entriesIn(directory: Buffer, count: number): ZippedFile[] {
  const files: ZippedFile[] = [];
  for (let from = 0; files.length < count;) {
    if (from + CENTRAL_BYTES > directory.length || directory.readUInt32LE(from) !== CENTRAL_SIGNATURE)
      throw new ZipFault(true, 'is damaged: its directory cannot be read');
    const [flags, method] = [directory.readUInt16LE(from + 8), directory.readUInt16LE(from + 10)];
    const [checksum, packedBytes, bytes] = [16, 20, 24].map((at) => directory.readUInt32LE(from + at));
    const [named, extra, comment] = [28, 30, 32].map((at) => directory.readUInt16LE(from + at));
    const behind = from + CENTRAL_BYTES + (named ?? 0);
    const name = directory.subarray(from + CENTRAL_BYTES, behind).toString();
    const at = directory.readUInt32LE(from + 42);
    const file = { name, method, at, checksum: checksum ?? 0, packedBytes: packedBytes ?? 0, bytes: bytes ?? 0 };
    mustBeReadable(file, flags);
    files.push(file);
    from = behind + (extra ?? 0) + (comment ?? 0);
  }
  return files;
}

function mustBeReadable({ name, method, at, packedBytes, bytes }: ZippedFile, flags: number): void {
  if ((flags & ENCRYPTED) !== 0) throw new ZipFault(false, `holds ${name} encrypted`);
  if (method !== STORED && method !== DEFLATED) throw new ZipFault(false, `packs ${name} by method ${method}`);
  if ([at, packedBytes, bytes].includes(ZIP64)) throw isZip64();
}

async function contentAt(handle: FileHandle, file: ZippedFile, directoryAt: number): Promise<number> {
  const local = await read(handle, file.at, LOCAL_BYTES);
  const at = file.at + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28);
  if (local.readUInt32LE(0) !== LOCAL_SIGNATURE || at + file.packedBytes > directoryAt)
    throw new ZipFault(true, `is damaged: ${file.name} is not where its directory says`);
  return at;
}

async function read(handle: FileHandle, from: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  const { bytesRead } = await handle.read(buffer, 0, bytes, from);
  if (bytesRead === bytes) return buffer;
  throw new ZipFault(true, 'is damaged: it ends before its directory does');
}
