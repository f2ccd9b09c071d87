import type { Readable } from 'node:stream';
import { PedigreeError } from '#kernel';

/** One line of a text and its 1-based number; without bytes where it was longer than allowed. */
export interface Line {
  line: number;
  bytes: Buffer | undefined;
}

/**
 * The chunks of a body. Throws PedigreeError `request_timeout` when for `idleMs` nothing arrives: a body may take as long as it likes while
 * it keeps coming. Only the time that is spent waiting for the sender counts. The stream is left open at the end, so that an answer can be given.
 */
export async function* arriving(stream: Readable, idleMs: number): AsyncGenerator<Uint8Array> {
  const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
  for (let next = await within(idleMs, chunks.next()); !next.done; next = await within(idleMs, chunks.next())) yield next.value;
}

async function within<T>(idleMs: number, next: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PedigreeError('request_timeout', `nothing arrived for ${idleMs} ms; what came before was taken`)), idleMs);
  });
  try {
    return await Promise.race([next, idle]);
  } finally {
    clearTimeout(timer);
    // When the time is over nobody waits for this chunk any more, and the connection may still fail.
    next.catch(() => undefined);
  }
}

/** Lines of a stream of bytes; empty lines are passed over, one over the limit comes without its bytes, which are not kept. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let pendingBytes = 0;
  let line = 1;
  const take = (): Line | undefined => {
    const taken = pendingBytes > maxLineBytes ? undefined : Buffer.concat(parts);
    parts = [];
    pendingBytes = 0;
    line += 1;
    return taken?.toString('latin1').trim() === '' ? undefined : { line: line - 1, bytes: taken };
  };
  const keep = (part: Buffer): void => {
    pendingBytes += part.length;
    if (pendingBytes > maxLineBytes) parts = [];
    else parts.push(part);
  };
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      keep(rest.subarray(0, end));
      const whole = take();
      if (whole !== undefined) yield whole;
      rest = rest.subarray(end + 1);
    }
    keep(rest);
  }
  const last = take();
  if (last !== undefined) yield last;
}

/**
 * Pages of a list as NDJSON text, one item a line, asked for only as fast as the reader takes them. Throws rather than end early: a list that
 * stops in the middle must not look like a whole one.
 */
export async function* asNdjson<T>(first: Page<T>, pageAfter: (cursor: string) => Promise<Page<T>>, maxPages = 1_000_000): AsyncGenerator<string> {
  let page = first;
  for (let pages = 0; pages < maxPages; pages += 1) {
    if (page.items.length > 0) yield `${page.items.map((item) => JSON.stringify(item)).join('\n')}\n`;
    if (page.next_cursor === undefined) return;
    page = await pageAfter(page.next_cursor);
  }
  throw new Error(`the list has more than ${maxPages} pages`);
}

interface Page<T> {
  items: T[];
  next_cursor?: string | undefined;
}
