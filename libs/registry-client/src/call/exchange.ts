import { createWriteStream, type WriteStream } from 'node:fs';
import type { Clock } from '#kernel';
import type { Dispatcher } from 'undici';
import type { RawAnswer } from '../port.js';

export interface HttpRequest {
  origin: string;
  /** Path with query. */
  path: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

export interface ExchangeLimits {
  /** From the dispatch to the last byte. */
  timeoutMs: number;
  maxAnswerBytes: number;
  /** Monotonic moment after which nothing may be written: a connection may have come up late. */
  notAfterMonotonicMs?: number | undefined;
  /** A good answer goes to this new file, of so many bytes at most, and not into memory. */
  into?: AnswerFile | undefined;
  /**
   * Told right before the first byte is written, and again once the kernel has it: between the two this process may
   * have been without a processor.
   */
  onWrite?: () => void;
}

export interface AnswerFile {
  path: string;
  maxBytes: number;
}

/**
 * What happened on the wire. `written` tells whether any byte of the request may have left: undici says so by
 * `onRequestStart`, which it calls on a connection that is up (TLS included), right before it writes. Without it the
 * request surely never went.
 */
export type Exchange =
  | { kind: 'answered'; raw: RawAnswer; retryAfter: string | undefined }
  | {
      kind: 'failed';
      written: boolean;
      reason: string;
      /** A good answer has more bytes than are taken. */
      isTooLarge?: true;
    };

/** Makes one request, once. Never throws, never repeats, always ends within `timeoutMs`. */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  limits: ExchangeLimits & { clock: Clock },
): Promise<Exchange> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(resolve, limits);
    try {
      dispatcher.dispatch({ ...request, body: request.body ?? null }, handler);
    } catch (error) {
      handler.onResponseError(undefined, error as Error);
    }
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private askedMonotonicMs = 0;
  private httpStatus = 0;
  private contentType = '';
  private retryAfter: string | undefined;
  private ended = false;
  private file: WriteStream | undefined;

  constructor(
    private readonly resolve: (exchange: Exchange) => void,
    private readonly limits: ExchangeLimits & { clock: Clock },
  ) {
    this.timer = setTimeout(() => this.fail(`no answer within ${limits.timeoutMs} ms`), limits.timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A connection that came up after we gave up, or a second try by the pool: neither may write.
    if (this.ended || this.controller !== undefined) return controller.abort(new Error('given up'));
    const { clock, notAfterMonotonicMs = Infinity } = this.limits;
    this.askedMonotonicMs = clock.monotonicMs();
    if (this.askedMonotonicMs > notAfterMonotonicMs) {
      this.fail('the connection came up too late for this attempt');
      return controller.abort(new Error('given up'));
    }
    this.controller = controller;
    this.limits.onWrite?.();
    // undici writes in the same turn, so a microtask runs after it.
    queueMicrotask(() => this.limits.onWrite?.());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (statusCode < 200) return;
    this.httpStatus = statusCode;
    this.contentType = String(headers['content-type'] ?? '');
    this.retryAfter = headers['retry-after'] === undefined ? undefined : String(headers['retry-after']);
    const { into } = this.limits;
    if (into === undefined || statusCode >= 300) return;
    this.file = createWriteStream(into.path, { flags: 'wx' });
    this.file.on('error', (error) => this.fail(`the answer could not be written: ${error.message}`));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytes += chunk.length;
    const { into, maxAnswerBytes } = this.limits;
    const most = this.file === undefined ? maxAnswerBytes : (into?.maxBytes ?? 0);
    if (this.bytes > most) {
      const isTooLarge = this.httpStatus < 300 ? ({ isTooLarge: true } as const) : {};
      return this.fail(`an answer of more than ${most} bytes (HTTP ${this.httpStatus})`, isTooLarge);
    }
    if (this.file === undefined) return void this.chunks.push(chunk);
    if (this.file.write(chunk)) return;
    controller.pause();
    this.file.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (this.file === undefined) return this.answered();
    // A callback of `end` would come after a failure too, and before its error.
    this.file.once('finish', () => this.answered()).end();
  }

  private answered(): void {
    const { clock, into } = this.limits;
    const body = this.chunks.length === 1 ? (this.chunks[0] as Buffer) : Buffer.concat(this.chunks);
    const raw = {
      httpStatus: this.httpStatus,
      contentType: this.contentType,
      body,
      ...(this.file === undefined || into === undefined ? {} : { file: { path: into.path, bytes: this.bytes } }),
      askedMonotonicMs: this.askedMonotonicMs,
      receivedMonotonicMs: clock.monotonicMs(),
      receivedAt: clock.now(),
    };
    this.end({ kind: 'answered', raw, retryAfter: this.retryAfter });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const heard = this.httpStatus > 0 ? ` after the beginning of an answer (HTTP ${this.httpStatus})` : '';
    this.fail(`${wordsFor(error)}${heard}`);
  }

  private fail(reason: string, more: { isTooLarge?: true } = {}): void {
    const controller = this.controller;
    this.end({ kind: 'failed', written: controller !== undefined, reason, ...more });
    controller?.abort(new Error(reason));
  }

  private end(result: Exchange): void {
    if (this.ended) return;
    this.ended = true;
    if (result.kind === 'failed') this.file?.destroy();
    clearTimeout(this.timer);
    this.resolve(result);
  }
}

/** The code of a network error with its words; several addresses tried give one error with many inside. */
function wordsFor(error: Error & { code?: string; errors?: Error[] }): string {
  const inner = error.errors?.[0];
  const message = error.message || inner?.message || error.name;
  return error.code !== undefined && !message.includes(error.code) ? `${error.code}: ${message}` : message;
}
