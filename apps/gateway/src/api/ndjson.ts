import { PedigreeError } from '#kernel';

/** Lines of a stream of bytes with their 1-based numbers; empty lines are passed over, a line over the limit is refused. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<{ line: number; bytes: Buffer }> {
  let parts: Buffer[] = [];
  let pendingBytes = 0;
  let line = 1;
  const take = (): Buffer => {
    const whole = Buffer.concat(parts);
    parts = [];
    pendingBytes = 0;
    return whole;
  };
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      parts.push(rest.subarray(0, end));
      const bytes = take();
      if (bytes.toString('latin1').trim() !== '') yield { line, bytes };
      line += 1;
      rest = rest.subarray(end + 1);
    }
    parts.push(rest);
    pendingBytes += rest.length;
    if (pendingBytes > maxLineBytes) throw new PedigreeError('body_too_large', `line ${line} is longer than ${maxLineBytes} bytes`, { line });
  }
  const last = take();
  if (last.toString('latin1').trim() !== '') yield { line, bytes: last };
}

/** Pages of a list as NDJSON text, one item a line, asked for only as fast as the reader takes them. */
export async function* asNdjson<T>(pageAfter: (cursor: string | undefined) => Promise<{ items: T[]; nextCursor?: string }>, maxPages = 100_000): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await pageAfter(cursor);
    if (page.items.length > 0) yield `${page.items.map((item) => JSON.stringify(item)).join('\n')}\n`;
    if (page.nextCursor === undefined) return;
    cursor = page.nextCursor;
  }
}
