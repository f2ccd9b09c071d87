import { createDeflateRaw, crc32 } from 'node:zlib';

const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;

/**
 * A zip archive of one file (PKWARE APPNOTE 6.3: local header 4.3.7, central directory 4.3.12, end 4.3.16), deflated
 * while its pieces come. `modifiedMs` is written in UTC, so that the same content gives the same bytes.
 */
export async function zipOf(name: string, pieces: AsyncIterable<string>, modifiedMs: number): Promise<Buffer> {
  const deflated: Buffer[] = [];
  const deflate = createDeflateRaw();
  const ended = new Promise<void>((resolve, reject) => {
    deflate.on('data', (chunk: Buffer) => deflated.push(chunk));
    deflate.on('end', resolve);
    deflate.on('error', reject);
  });
  let checksum = 0;
  let size = 0;
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece);
    checksum = crc32(bytes, checksum);
    size += bytes.length;
    if (!deflate.write(bytes)) await new Promise((resolve) => deflate.once('drain', resolve));
  }
  deflate.end();
  await ended;
  const content = Buffer.concat(deflated);
  const file = { name: Buffer.from(name), checksum, size, packedSize: content.length, ...dosTime(modifiedMs) };
  const local = header(LOCAL_BYTES, 0x04034b50, { file, at: 4 });
  const central = header(CENTRAL_BYTES, 0x02014b50, { file, at: 6 });
  central.writeUInt16LE(VERSION, 4);
  const directory = Buffer.concat([central, file.name]);
  const before = LOCAL_BYTES + file.name.length + content.length;
  return Buffer.concat([local, file.name, content, directory, endOf(directory.length, before)]);
}

interface ZippedFile {
  name: Buffer;
  checksum: number;
  size: number;
  packedSize: number;
  time: number;
  date: number;
}

/** The fields that both headers share, from `at` on. */
function header(bytes: number, signature: number, { file, at }: { file: ZippedFile; at: number }): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUInt32LE(signature, 0);
  [VERSION, UTF8_NAMES, DEFLATED, file.time, file.date].forEach((value, index) =>
    buffer.writeUInt16LE(value, at + index * 2),
  );
  [file.checksum, file.packedSize, file.size].forEach((value, index) =>
    buffer.writeUInt32LE(value, at + 10 + index * 4),
  );
  buffer.writeUInt16LE(file.name.length, at + 22);
  return buffer;
}

function endOf(directoryBytes: number, directoryAt: number): Buffer {
  const buffer = Buffer.alloc(END_BYTES);
  buffer.writeUInt32LE(0x06054b50, 0);
  buffer.writeUInt16LE(1, 8);
  buffer.writeUInt16LE(1, 10);
  buffer.writeUInt32LE(directoryBytes, 12);
  buffer.writeUInt32LE(directoryAt, 16);
  return buffer;
}

function dosTime(unixMs: number): { time: number; date: number } {
  const at = new Date(unixMs);
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  };
}
