import { coalesce, isSha256, PedigreeError, sha256Hex } from '#kernel';
import type { Sha256 } from '#kernel';
import type { MigrationSet, Pool } from '#postgres';
import { byteaArray } from './binary-array.js';
import { BlobCache } from './blob-cache.js';
import type { CachedBlob } from './blob-cache.js';
import { decode, encode } from './encoding.js';
import type { Encoded } from './encoding.js';
import { EvidenceDamaged, type EvidenceStore } from './port.js';

/** The table of this library: evidence. */
export const evidenceSchema: MigrationSet = { name: 'evidence', directory: new URL('./migrations/', import.meta.url) };

const MOST_BLOBS_PER_STATEMENT = 500;
/** A statement carries at most so many bytes, or one blob. */
const MOST_BYTES_PER_STATEMENT = 8 * 1024 * 1024;
const MOST_WAITING_PUTS = 20_000;
/** Reads that are made together share statements, so many of which are under way at once. */
const MOST_READ_TOGETHER = 200;
const MOST_READS_AT_ONCE = 4;
const MOST_WAITING_GETS = 20_000;
const LONGEST_MEDIA_TYPE = 200;

export interface EvidenceStoreOptions {
  pool: Pool;
  /** Recently put or read blobs are kept in memory up to this sum. Default 32 MiB; 0 for none. */
  maxCacheBytes?: number;
  /** Default 64 MiB. */
  maxBlobBytes?: number;
  /** Most bytes that may wait to be stored. Default 256 MiB. */
  maxWaitingBytes?: number;
}

interface Put {
  sha256: Sha256;
  bytes: Uint8Array;
  mediaType: string;
}

type Ready = Put & Encoded;

/** In ascending order of digest, so that two batches which share blobs wait for each other and cannot deadlock. */
const INSERT = `
INSERT INTO evidence (sha256, byte_length, encoding, media_type, content)
SELECT * FROM unnest($1::bytea[], $2::int[], $3::smallint[], $4::text[], $5::bytea[]) ON CONFLICT (sha256) DO NOTHING`;

const SELECT =
  'SELECT sha256, byte_length, encoding, media_type, content FROM evidence WHERE sha256 = ANY ($1::bytea[])';
const LENGTHS = 'SELECT sha256, byte_length FROM evidence WHERE sha256 = ANY ($1::bytea[])';

interface Row {
  sha256: Buffer;
  byte_length: number;
  encoding: number;
  media_type: string;
  content: Buffer;
}

/**
 * Evidence in a PostgreSQL table (principles 5). Puts that are made together share one insert, and reads one select;
 * `put` resolves when it is committed. The media type of the first put stays. Bytes are not copied: callers write
 * neither into what they put nor into what they got.
 */
export class PostgresEvidenceStore implements EvidenceStore {
  private readonly pool: Pool;
  private readonly cache: BlobCache;
  private readonly maxBlobBytes: number;
  private readonly maxWaitingBytes: number;
  private waitingBytes = 0;
  private readonly insertTogether = coalesce<Put, Sha256>((puts) => this.insert(puts), {
    maxBatch: MOST_BLOBS_PER_STATEMENT,
    maxWaiting: MOST_WAITING_PUTS,
  });
  private readonly rowTogether = coalesce<Sha256, Row | undefined>((digests) => this.rowsOf(digests), {
    maxBatch: MOST_READ_TOGETHER,
    maxWaiting: MOST_WAITING_GETS,
    maxRuns: MOST_READS_AT_ONCE,
  });

  constructor(options: EvidenceStoreOptions) {
    this.pool = options.pool;
    this.cache = new BlobCache(options.maxCacheBytes ?? 32 * 1024 * 1024);
    this.maxBlobBytes = options.maxBlobBytes ?? 64 * 1024 * 1024;
    this.maxWaitingBytes = options.maxWaitingBytes ?? 256 * 1024 * 1024;
  }

  /**
   * Throws PedigreeError `body_too_large` for one blob above the limit and `backlog_full` when too many bytes wait
   * already.
   */
  async put(bytes: Uint8Array, mediaType: string): Promise<Sha256> {
    if (bytes.length > this.maxBlobBytes) {
      throw new PedigreeError(
        'body_too_large',
        `evidence of ${bytes.length} bytes: at most ${this.maxBlobBytes} are stored as one piece`,
        { item: mediaType },
      );
    }
    if (mediaType.length === 0 || mediaType.length > LONGEST_MEDIA_TYPE)
      throw new Error(`a media type has 1 to ${LONGEST_MEDIA_TYPE} characters`);
    const sha256 = sha256Hex(bytes);
    // What is in the cache was committed or read before.
    if (this.cache.get(sha256) !== undefined) return sha256;
    if (this.waitingBytes > 0 && this.waitingBytes + bytes.length > this.maxWaitingBytes) {
      throw new PedigreeError('backlog_full', `${this.waitingBytes} bytes of evidence wait to be stored`, {
        item: sha256,
      });
    }
    this.waitingBytes += bytes.length;
    try {
      return await this.insertTogether({ sha256, bytes, mediaType });
    } finally {
      this.waitingBytes -= bytes.length;
    }
  }

  async get(sha256: Sha256): Promise<{ bytes: Buffer; mediaType: string } | undefined> {
    return (await this.read([sha256])).get(sha256);
  }

  async getMany(sha256s: Sha256[]): Promise<Map<Sha256, Buffer>> {
    const blobs = await this.read(sha256s);
    return new Map([...blobs].map(([sha256, blob]) => [sha256, blob.bytes]));
  }

  async lengths(sha256s: Sha256[]): Promise<Map<Sha256, number>> {
    sha256s.forEach(checkDigest);
    const digests = byteaArray([...new Set(sha256s)].map((sha256) => Buffer.from(sha256, 'hex')));
    const { rows } = await this.pool.query<{ sha256: Buffer; byte_length: number }>({
      name: 'evidence-lengths',
      text: LENGTHS,
      values: [digests],
    });
    return new Map(rows.map((row) => [row.sha256.toString('hex'), row.byte_length]));
  }

  private async read(sha256s: Sha256[]): Promise<Map<Sha256, CachedBlob>> {
    const found = new Map<Sha256, CachedBlob>();
    const missing = new Set<Sha256>();
    for (const sha256 of sha256s) {
      checkDigest(sha256);
      const cached = this.cache.get(sha256);
      if (cached !== undefined) found.set(sha256, cached);
      else missing.add(sha256);
    }
    const wanted = [...missing];
    for (let from = 0; from < wanted.length; from += MOST_READ_TOGETHER) {
      for (const row of await Promise.all(
        wanted.slice(from, from + MOST_READ_TOGETHER).map((one) => this.rowTogether(one)),
      )) {
        if (row === undefined) continue;
        const [sha256, blob] = await verified(row);
        this.cache.add(sha256, blob);
        found.set(sha256, blob);
      }
    }
    return found;
  }

  private async rowsOf(sha256s: Sha256[]): Promise<(Row | undefined)[]> {
    const digests = byteaArray([...new Set(sha256s)].map((sha256) => Buffer.from(sha256, 'hex')));
    const { rows } = await this.pool.query<Row>({ name: 'evidence-select', text: SELECT, values: [digests] });
    const found = new Map(rows.map((row) => [row.sha256.toString('hex'), row]));
    return sha256s.map((sha256) => found.get(sha256));
  }

  private async insert(puts: Put[]): Promise<Sha256[]> {
    const blobs = new Map(puts.map((put) => [put.sha256, put]));
    const ready: Ready[] = [];
    for (const put of blobs.values()) ready.push({ ...put, ...(await encode(put.bytes, put.mediaType)) });
    ready.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
    for (const batch of batchesOf(ready)) {
      await this.pool.query({
        name: 'evidence-insert',
        text: INSERT,
        values: [
          byteaArray(batch.map((blob) => Buffer.from(blob.sha256, 'hex'))),
          batch.map((blob) => blob.bytes.length),
          batch.map((blob) => blob.encoding),
          batch.map((blob) => blob.mediaType),
          byteaArray(batch.map((blob) => blob.content)),
        ],
      });
      for (const blob of batch)
        this.cache.add(blob.sha256, {
          bytes: Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.byteLength),
          mediaType: blob.mediaType,
        });
    }
    return puts.map((put) => put.sha256);
  }
}

function checkDigest(text: string): void {
  const shown = text.slice(0, 80);
  if (!isSha256(text))
    throw new PedigreeError('invalid_parameter', `${shown} is not a SHA-256 digest in lower-case hexadecimal digits`, {
      item: shown,
    });
}

function* batchesOf(blobs: Ready[]): Generator<Ready[]> {
  let batch: Ready[] = [];
  let byteLength = 0;
  for (const blob of blobs) {
    if (batch.length > 0 && byteLength + blob.content.length > MOST_BYTES_PER_STATEMENT) {
      yield batch;
      [batch, byteLength] = [[], 0];
    }
    batch.push(blob);
    byteLength += blob.content.length;
  }
  if (batch.length > 0) yield batch;
}

async function verified(row: Row): Promise<[Sha256, CachedBlob]> {
  const sha256 = row.sha256.toString('hex');
  let bytes: Buffer;
  try {
    bytes = await decode(row.encoding, row.content, row.byte_length);
  } catch (error) {
    throw new EvidenceDamaged(sha256, (error as Error).message);
  }
  const digest = sha256Hex(bytes);
  if (digest !== sha256) throw new EvidenceDamaged(sha256, `the bytes have digest ${digest}`);
  return [sha256, { bytes, mediaType: row.media_type }];
}
