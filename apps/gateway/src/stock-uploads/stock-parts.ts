import { z } from 'zod';
import type { Actor } from '#event-store';
import { PedigreeError, PLAIN_WORDS, systemClock, type Clock, type Sha256 } from '#kernel';
import { PART_BYTES } from '../api/body-limits.js';
import { stockUploadBody } from '../api/stock-upload-parameters.js';
import { invalidBody } from '../intake/command-body.js';
import { FOLDER } from './folder-troubles.js';
import type { StockFile, StockUploads } from './stock-uploads.js';

const STOCK_PART = 'stock_part';
/** So long a part may take from its turn on, the joining of the whole file included. A folder may never answer. */
const MOST_PART_MS = 5 * 60_000;

/** Base64 is read as it must be written: what a lenient reader would leave out is refused. */
const content = z.string().transform((text, context) => {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text)
    context.addIssue({ code: 'custom', message: 'must be base64 (RFC 4648) with its padding, and nothing else' });
  return bytes;
});

/** A part of a stock file as a message of the bus: it tells all that is to be known of it. */
export const stockPartBody = z.strictObject({
  type: z.literal(STOCK_PART),
  file: stockUploadBody.describe('The whole file. The same in each of its parts.'),
  part: z
    .number()
    .int()
    .min(1)
    .describe(`Number of the part, from 1. Every part but the last has ${PART_BYTES} bytes.`),
  sha256: stockUploadBody.shape.sha256.describe('SHA-256 of the bytes of this part.'),
  content: content.describe('The bytes of this part in base64 (RFC 4648), with its padding.'),
});

export interface StockPart {
  file: StockFile;
  n: number;
  bytes: Buffer;
  sha256: Sha256;
}

export const isStockPart = (given: unknown): boolean => (Object(given) as { type?: unknown }).type === STOCK_PART;

/** @throws PedigreeError invalid_command that names the field. */
export function parseStockPart(given: unknown): StockPart {
  const parsed = stockPartBody.safeParse(given, PLAIN_WORDS);
  if (!parsed.success) throw invalidBody(parsed.error, 'part of stock file', stockPartBody);
  const { file, part: n, sha256, content: bytes } = parsed.data;
  const { moment = null, ...rest } = file;
  return { file: { ...rest, moment }, n, bytes, sha256 };
}

/** What the parts of HTTP call it, and where it stands in a message. */
const FIELDS: Record<string, string> = {
  '/bytes': '/file/bytes',
  '/moment': '/file/moment',
  n: '/part',
  'Content-Length': '/content',
  'Content-Digest': '/sha256',
};

/**
 * Stock files whose parts come by themselves, in any order and more than once: the first begins the upload, the last
 * hands the file over. One part after the other, so that files of one part are never open many at a time.
 */
export class StockParts {
  /** As many as the bus hands over at once. */
  private readonly waiting: Waiting[] = [];
  private isTaking = false;
  /** The folder has left a part without an answer for too long, and has given none since. */
  private isSilent = false;

  constructor(
    private readonly uploads: Pick<StockUploads, 'opened' | 'put' | 'isWhole' | 'finish' | 'remove'>,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Resolves when the part is durable, and with the last one the file. While the folder does not answer all are
   * refused, those that wait too: held, they would keep other messages back. @throws PedigreeError as StockUploads.
   */
  take(part: StockPart, actor: Actor): Promise<void> {
    if (this.isSilent) return Promise.reject(folderSilent());
    return new Promise((resolve, reject) => {
      this.waiting.push({ part, actor, resolve, reject });
      void this.takeAll();
    });
  }

  private async takeAll(): Promise<void> {
    if (this.isTaking) return;
    this.isTaking = true;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) await this.takeInTime(next);
    this.isTaking = false;
  }

  /** Ends when the folder has answered. Whoever waits is let go of before that. */
  private async takeInTime({ part, actor, resolve, reject }: Waiting): Promise<void> {
    const answered = new AbortController();
    const isAnswered = (): boolean => answered.signal.aborted;
    void this.clock.wait(MOST_PART_MS, answered.signal).then(() => {
      if (isAnswered()) return;
      this.isSilent = true;
      for (const letGo of [reject, ...this.waiting.splice(0).map((one) => one.reject)]) letGo(folderSilent());
    });
    await this.takeNext(part, actor).then(resolve, reject);
    answered.abort();
    this.isSilent = false;
  }

  private async takeNext({ file, n, ...part }: StockPart, actor: Actor): Promise<void> {
    const { uploads } = this;
    const uploadId = await placed(file, n, async () => {
      const id = await uploads.opened(file, actor);
      await uploads.put(id, n, part);
      return id;
    });
    if (!(await uploads.isWhole(uploadId))) return;
    // Nobody waits for it any more: when it comes again it ends the file.
    if (this.isSilent) return;
    try {
      await uploads.finish(uploadId, actor);
    } catch (error) {
      // A part that the disk has changed was removed, and is wanted again.
      if (!isConflict(error) || !(await uploads.isWhole(uploadId))) throw error;
      await uploads.remove(uploadId);
      throw new PedigreeError('upload_conflict', `${nameOf(file)}: ${error.message}; all of its parts were removed`, {
        field: '/file/sha256',
      });
    }
  }
}

interface Waiting {
  part: StockPart;
  actor: Actor;
  resolve(): void;
  reject(error: unknown): void;
}

const folderSilent = (): PedigreeError =>
  new PedigreeError('unavailable', `${FOLDER} has not answered for ${MOST_PART_MS / 60_000} minutes`);

const nameOf = ({ name }: StockFile): string => `/file: ${name}`;
const isConflict = (error: unknown): error is PedigreeError =>
  error instanceof PedigreeError && error.code === 'upload_conflict';

/** Names the field of the message, and the part. */
async function placed<T>(file: StockFile, n: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const field = FIELDS[(error instanceof PedigreeError && error.place.field) || ''];
    if (!(error instanceof PedigreeError) || field === undefined) throw error;
    throw new PedigreeError(
      error.code,
      `${field}: part ${n} of ${file.name}: ${error.message.replace(/^\/bytes: /, '')}`,
      { field },
    );
  }
}
