import type { Readable } from 'node:stream';
import { PedigreeError } from '#kernel';

/**
 * One line of a text and its 1-based number; why it has no bytes where it was longer than allowed, or found no room in
 * memory.
 */
export interface Line {
  line: number;
  bytes: Buffer | 'too_long' | 'no_room';
}

/** Room for the bytes of lines; whoever takes a line gives its bytes back. */
interface Room {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/**
 * The chunks of a body. Throws PedigreeError `request_timeout` when for `idleMs` nothing arrives: a body may take as
 * long as it likes while it keeps coming. Only the time that is spent waiting for the sender counts. The stream is left
 * open at the end, so that an answer can be given.
 */
export async function* arriving(stream: Readable, idleMs: number): AsyncGenerator<Uint8Array> {
  const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
  for (let next = await within(idleMs, chunks.next()); !next.done; next = await within(idleMs, chunks.next()))
    yield next.value;
}

async function within<T>(idleMs: number, next: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(new PedigreeError('request_timeout', `nothing arrived for ${idleMs} ms; what came before was taken`)),
      idleMs,
    );
  });
  try {
    return await Promise.race([next, idle]);
  } finally {
    clearTimeout(timer);
    // When the time is over nobody waits for this chunk any more, and the connection may still fail.
    next.catch(() => undefined);
  }
}

/**
 * Lines of a stream of bytes; empty lines are passed over, one over the limit or without room comes without its bytes,
 * which are not kept.
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
  room: Room,
): AsyncGenerator<Line> {
  const pending = new PendingLine(maxLineBytes, room);
  let line = 0;
  const take = (): Line | undefined => {
    line += 1;
    const bytes = pending.take();
    return bytes === undefined ? undefined : { line, bytes };
  };
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      pending.keep(rest.subarray(0, end));
      const whole = take();
      if (whole !== undefined) yield whole;
      rest = rest.subarray(end + 1);
    }
    pending.keep(rest);
  }
  const last = take();
  if (last !== undefined) yield last;
}

/** The line of which a part has come. */
class PendingLine {
  private parts: Buffer[] = [];
  private heldBytes = 0;
  private refused: 'too_long' | 'no_room' | undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly room: Room,
  ) {}

  keep(part: Buffer): void {
    if (this.refused !== undefined) return;
    if (this.heldBytes + part.length > this.maxBytes) return this.refuse('too_long');
    if (!this.room.take(part.length)) return this.refuse('no_room');
    this.heldBytes += part.length;
    this.parts.push(part);
  }

  /** The whole line, and room for another; undefined for an empty one. */
  take(): Line['bytes'] | undefined {
    const { refused, heldBytes } = this;
    const whole = Buffer.concat(this.parts);
    [this.parts, this.heldBytes, this.refused] = [[], 0, undefined];
    if (refused !== undefined) return refused;
    if (whole.toString('latin1').trim() !== '') return whole;
    this.room.giveBack(heldBytes);
    return undefined;
  }

  private refuse(why: 'too_long' | 'no_room'): void {
    this.room.giveBack(this.heldBytes);
    [this.parts, this.heldBytes, this.refused] = [[], 0, why];
  }
}

/**
 * Pages of a list, asked for only as fast as the reader takes them. Throws rather than end early: a list that stops in
 * the middle must not look like a whole one.
 */
export async function* pagesOf<T>(
  first: Page<T>,
  pageAfter: (cursor: string) => Promise<Page<T>>,
  maxPages = 1_000_000,
): AsyncGenerator<Page<T>> {
  let page = first;
  for (let pages = 0; pages < maxPages; pages += 1) {
    yield page;
    if (page.next_cursor === undefined) return;
    page = await pageAfter(page.next_cursor);
  }
  throw new Error(`the list has more than ${maxPages} pages`);
}

/** Pages of a list as NDJSON text, one item a line. */
export async function* asNdjson<T>(
  first: Page<T>,
  pageAfter: (cursor: string) => Promise<Page<T>>,
  maxPages?: number,
): AsyncGenerator<string> {
  for await (const { items } of pagesOf(first, pageAfter, maxPages))
    if (items.length > 0) yield `${items.map((item) => JSON.stringify(item)).join('\n')}\n`;
}

export interface Page<T> {
  items: T[];
  next_cursor?: string | undefined;
}
