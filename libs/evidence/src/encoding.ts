import { promisify } from 'node:util';
import { deflate, deflateSync, inflate, inflateSync } from 'node:zlib';

/** As in the table: 0 the bytes as they are, 1 zlib. */
type Encoding = 0 | 1;

export interface Encoded {
  encoding: Encoding;
  content: Uint8Array;
}

const WORTH_COMPRESSING_BYTES = 200;
/**
 * Above this the work moves to libuv's threads, because it would hold up everything else for more than a few
 * milliseconds.
 */
const ASYNC_BYTES = 256 * 1024;
/** Level 1: a third of the time of the default for about a tenth more bytes. */
const OPTIONS = { level: 1 };
/** Compressed, signed or packed already: trying costs more than it ever saves. */
const DENSE = /^application\/(pkcs7|pkix|pkcs10|cms|zip|gzip|x-zip|vnd\.apache\.parquet)/;

/** Of zlib's own. */
const LEAST_CHUNK_BYTES = 64;

const deflateAsync = promisify<Uint8Array, { level: number }, Buffer>(deflate);
const inflateAsync = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflate);

/** The form in which bytes are stored: compressed where that makes them smaller. */
export function encode(bytes: Uint8Array, mediaType: string): Encoded | Promise<Encoded> {
  if (bytes.length <= WORTH_COMPRESSING_BYTES || DENSE.test(mediaType)) return { encoding: 0, content: bytes };
  const smaller = (content: Uint8Array): Encoded =>
    content.length < bytes.length ? { encoding: 1, content } : { encoding: 0, content: bytes };
  return bytes.length <= ASYNC_BYTES
    ? smaller(deflateSync(bytes, OPTIONS))
    : deflateAsync(bytes, OPTIONS).then(smaller);
}

/**
 * The bytes again; above 256 KB compressed, later. Throws when they are not `byteLength` long or no zlib stream; never
 * inflates to more than that.
 */
export function decode(encoding: number, content: Uint8Array, byteLength: number): Buffer | Promise<Buffer> {
  if (encoding === 1 && byteLength > ASYNC_BYTES)
    return inflateAsync(content, { maxOutputLength: byteLength }).then((bytes) => ofLength(bytes, byteLength));
  if (encoding !== 0 && encoding !== 1) throw new Error(`encoding ${encoding} is unknown`);
  const bytes =
    encoding === 1
      ? inflateSync(content, inOnePiece(byteLength))
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return ofLength(bytes, byteLength);
}

/** Into one buffer, and not into pieces of 16 KB that are put together. */
const inOnePiece = (byteLength: number) => ({
  maxOutputLength: Math.max(1, byteLength),
  chunkSize: Math.max(LEAST_CHUNK_BYTES, byteLength + 1),
});

function ofLength(bytes: Buffer, byteLength: number): Buffer {
  if (bytes.length !== byteLength) throw new Error(`${bytes.length} bytes where ${byteLength} are recorded`);
  return bytes;
}
