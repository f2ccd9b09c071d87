import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { getFileNameLowLevel, openPromise, type Entry, type ZipFile } from 'yauzl';
import { PedigreeError } from '#kernel';

/** Entries of a directory that are looked at: the zip of one file has one, and perhaps folders. */
const MOST_ENTRIES = 1_000;
/** Of several files, so many are named. */
const MOST_NAMED = 10;
const STORED = 0;
const DEFLATED = 8;

/** The one file in a zip. */
export interface ZippedFile {
  name: string;
  bytes: number;
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
 * Unpacks the one file of a zip, a piece at a time (PKWARE APPNOTE 6.3, 4.3; also zip64). The directory at its end is
 * believed, and not what stands before each file; length and CRC-32 of the content are checked against it.
 * @throws ZipFault for a damaged zip, one with another number of files, or more than `maxBytes`, which ends it at once.
 */
export async function unzipOne(path: string, maxBytes: number, into: Writable): Promise<ZippedFile> {
  const zip = await openPromise(path, { autoClose: false, decodeStrings: false }).catch(asFault);
  try {
    const entry = await onlyFileOf(zip);
    const file = { name: nameOf(entry), bytes: entry.uncompressedSize };
    mustBeReadable(entry, file);
    if (file.bytes > maxBytes) throw new ZipFault(false, `holds ${file.bytes} bytes; at most ${maxBytes} are taken`);
    await unpack({ zip, entry }, file, into);
    return file;
  } finally {
    zip.close();
  }
}

/** Reads all of it, and keeps nothing. */
export const checkZip = (path: string, maxBytes: number): Promise<ZippedFile> =>
  unzipOne(path, maxBytes, new Writable({ write: (_chunk, _encoding, done) => done() }));

const nameOf = (entry: Entry): string =>
  getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);

async function onlyFileOf(zip: ZipFile): Promise<Entry> {
  if (zip.entryCount > MOST_ENTRIES) throw new ZipFault(false, `holds ${zip.entryCount} entries; one file is read`);
  const files: Entry[] = [];
  try {
    for await (const entry of zip.eachEntry()) if (!nameOf(entry).endsWith('/')) files.push(entry);
  } catch (error) {
    asFault(error);
  }
  const [file] = files;
  if (file !== undefined && files.length === 1) return file;
  const named = files.slice(0, MOST_NAMED).map(nameOf);
  const more = files.length > MOST_NAMED ? ', ...' : '';
  throw new ZipFault(false, `holds ${files.length} files (${named.join(', ')}${more}); one is read`);
}

function mustBeReadable(entry: Entry, { name }: ZippedFile): void {
  if (entry.isEncrypted()) throw new ZipFault(false, `holds ${name} encrypted`);
  const { compressionMethod: method } = entry;
  if (method !== STORED && method !== DEFLATED) throw new ZipFault(false, `packs ${name} by method ${method}`);
}

/** yauzl compares lengths as they come, so more than is told ends it at once. It leaves the checksum to its caller. */
async function unpack({ zip, entry }: { zip: ZipFile; entry: Entry }, file: ZippedFile, into: Writable): Promise<void> {
  let checksum = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      checksum = crc32(chunk, checksum);
      done(null, chunk);
    },
  });
  try {
    await pipeline(await zip.openReadStreamPromise(entry), check, into);
  } catch (error) {
    asFault(error);
  }
  if (checksum !== entry.crc32) throw new ZipFault(true, `is damaged: the CRC-32 of ${file.name} is another`);
}

/** What yauzl and zlib say of the bytes; what the file system says is no fault of the zip. */
function asFault(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined || code.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE')
    throw new ZipFault(true, `is damaged: ${message}`);
  throw error;
}
