import type { Readable } from 'node:stream';
import { PedigreeError } from '#kernel';

/**
 * Bytes of bodies that are held in memory, over all requests of this process. What does not fit in is for the client to
 * bring again.
 */
export class BodyMemory {
  private heldBytes = 0;

  constructor(readonly mostBytes: number) {}

  /** The part of one request. */
  share(): BodyShare {
    return new BodyShare(this);
  }

  /** False when so much more does not fit in; then nothing is taken. */
  take(bytes: number): boolean {
    if (this.heldBytes + bytes > this.mostBytes) return false;
    this.heldBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.heldBytes -= bytes;
  }

  /** For whoever does not fit in. */
  full(): PedigreeError {
    return new PedigreeError(
      'backlog_full',
      `the bodies of all requests together may hold ${this.mostBytes} bytes at once, and this does not fit in; ` +
        'try again later',
    );
  }
}

/** What one request holds. Whatever it has not given back by its end comes back then, and nothing counts any more. */
export class BodyShare {
  private heldBytes = 0;
  private hasEnded = false;

  constructor(private readonly memory: BodyMemory) {}

  take(bytes: number): boolean {
    if (this.hasEnded) return true;
    const isTaken = this.memory.take(bytes);
    if (isTaken) this.heldBytes += bytes;
    return isTaken;
  }

  giveBack(bytes: number): void {
    const given = Math.min(bytes, this.heldBytes);
    this.heldBytes -= given;
    this.memory.giveBack(given);
  }

  end(): void {
    this.hasEnded = true;
    this.giveBack(this.heldBytes);
  }

  full(): PedigreeError {
    return this.memory.full();
  }
}

interface WholeBody {
  share: BodyShare;
  /** Content-Length, where it was told: all of it is taken from the share at once. */
  toldBytes: number | undefined;
  /** Most bytes of a body whose length is told, and of one whose is not. */
  mostToldBytes: number;
  mostBytes: number;
}

/**
 * The whole of a body. The stream is left open at an error, so that it can be answered. Throws PedigreeError
 * `body_too_large` or `backlog_full`.
 */
export async function wholeBody(
  stream: Readable,
  { share, toldBytes, mostToldBytes, mostBytes }: WholeBody,
): Promise<Buffer> {
  if ((toldBytes ?? 0) > mostToldBytes)
    throw new PedigreeError('body_too_large', `the body has more than ${mostToldBytes} bytes`);
  if (toldBytes !== undefined && !share.take(toldBytes)) throw share.full();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (toldBytes === undefined && length > mostBytes)
        throw new PedigreeError(
          'body_too_large',
          `a body of more than ${mostBytes} bytes must tell its length (Content-Length)`,
        );
      if (toldBytes === undefined && !share.take(chunk.length)) throw share.full();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof PedigreeError
      ? error
      : new PedigreeError('missing_body', 'the connection ended before the body did');
  }
  return Buffer.concat(chunks, length);
}
