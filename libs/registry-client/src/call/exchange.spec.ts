import { once } from 'node:events';
import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { exchange, type Exchange } from './exchange.js';

/** A pool that leaves all to the test: it hands out the handler and counts aborted connections. */
class FakeDispatcher {
  handler: Dispatcher.DispatchHandler | undefined;
  aborted = 0;
  readonly controller = { abort: () => void (this.aborted += 1) } as unknown as Dispatcher.DispatchController;
  readonly dispatch = (_options: unknown, handler: Dispatcher.DispatchHandler): boolean => {
    this.handler = handler;
    return true;
  };
}

const REQUEST = { origin: 'http://x', path: '/', method: 'POST', headers: {}, body: '{}' } as const;
const LIMITS = { timeoutMs: 10_000, maxAnswerBytes: 1000 };

const start = (dispatcher: unknown, timeoutMs = LIMITS.timeoutMs): Promise<Exchange> =>
  exchange(dispatcher as Dispatcher, REQUEST, { ...LIMITS, timeoutMs, clock: new VirtualClock() });

describe('exchange', () => {
  it('knows that nothing was written when the error comes before the start', async () => {
    const pool = new FakeDispatcher();
    const result = start(pool);
    pool.handler?.onResponseError?.(pool.controller, Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    expect(await result).toEqual({ kind: 'failed', written: false, reason: 'ECONNREFUSED: refused' });
  });

  it('knows that it may have been written when the error comes after', async () => {
    const pool = new FakeDispatcher();
    const result = start(pool);
    pool.handler?.onRequestStart?.(pool.controller, {});
    pool.handler?.onResponseError?.(pool.controller, new Error('other side closed'));
    expect(await result).toEqual({ kind: 'failed', written: true, reason: 'other side closed' });
  });

  it('does not let the pool write a second time', async () => {
    const pool = new FakeDispatcher();
    const result = start(pool);
    pool.handler?.onRequestStart?.(pool.controller, {});
    expect(pool.aborted).toBe(0);
    pool.handler?.onRequestStart?.(pool.controller, {});
    expect(pool.aborted).toBe(1);
    pool.handler?.onResponseError?.(pool.controller, new Error('given up'));
    expect(await result).toMatchObject({ kind: 'failed', written: true });
  });

  it('does not let a connection write that came up after we gave up', async () => {
    const pool = new FakeDispatcher();
    expect(await start(pool, 1)).toEqual({ kind: 'failed', written: false, reason: 'no answer within 1 ms' });
    pool.handler?.onRequestStart?.(pool.controller, {});
    expect(pool.aborted).toBe(1);
  });

  it('does not let a connection write that came up after the last moment for this call', async () => {
    const pool = new FakeDispatcher();
    const clock = new VirtualClock();
    const notAfterMonotonicMs = clock.monotonicMs() + 20;
    const result = exchange(pool as unknown as Dispatcher, REQUEST, { ...LIMITS, clock, notAfterMonotonicMs });
    clock.advance(21);
    pool.handler?.onRequestStart?.(pool.controller, {});
    expect(pool.aborted).toBe(1);
    const reason = 'the connection came up too late for this attempt';
    expect(await result).toEqual({ kind: 'failed', written: false, reason });
  });

  it('joins the pieces of an answer and passes over 1xx', async () => {
    const pool = new FakeDispatcher();
    const result = start(pool);
    const { handler, controller } = pool;
    handler?.onRequestStart?.(controller, {});
    handler?.onResponseStart?.(controller, 103, {});
    handler?.onResponseStart?.(controller, 429, { 'content-type': 'text/plain', 'retry-after': '1' });
    for (const piece of ['a', 'b']) handler?.onResponseData?.(controller, Buffer.from(piece));
    handler?.onResponseEnd?.(controller, {});
    expect(await result).toMatchObject({
      kind: 'answered',
      retryAfter: '1',
      raw: { httpStatus: 429, contentType: 'text/plain', body: Buffer.from('ab') },
    });
  });

  it('tells of the write before it and after it, so that the later moment counts', async () => {
    const pool = new FakeDispatcher();
    const clock = new VirtualClock();
    const beganMs = clock.monotonicMs();
    const writtenMs: number[] = [];
    const onWrite = () => void writtenMs.push(clock.monotonicMs() - beganMs);
    void exchange(pool as unknown as Dispatcher, REQUEST, { ...LIMITS, clock, onWrite });
    pool.handler?.onRequestStart?.(pool.controller, {});
    // Here the process was without a processor for a while.
    clock.advance(30);
    await Promise.resolve();
    expect(writtenMs).toEqual([0, 30]);
    pool.handler?.onResponseError?.(pool.controller, new Error('over'));
  });

  it('tells of the write for the second time when the kernel has it', async () => {
    const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connect = buildConnector({});
    let socket: Socket | undefined;
    const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      connect: (options, callback) =>
        connect(options, (...[error, made]) => {
          if (error !== null) return callback(error, null);
          socket = made;
          callback(null, made);
        }),
    });
    const seen: unknown[] = [];
    const onWrite = () => void seen.push([socket?.bytesWritten === 0, socket?.writableLength]);
    await exchange(pool, { ...REQUEST, body: 'x'.repeat(20_000) }, { ...LIMITS, clock: new VirtualClock(), onWrite });
    await pool.close();
    server.close();
    expect(seen).toEqual([
      [true, 0],
      [false, 0],
    ]);
  });

  it('takes no file for whole whose last bytes the disk had no room for', async () => {
    const pool = new FakeDispatcher();
    const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const write = jest.spyOn(fs, 'write').mockImplementation((...given: unknown[]) => {
      (given.at(-1) as (error: Error) => void)(full);
    });
    const into = { path: join(folder, 'file'), maxBytes: 1000 };
    const clock = new VirtualClock();
    const result = exchange(pool as unknown as Dispatcher, REQUEST, { ...LIMITS, clock, into });
    const { handler, controller } = pool;
    handler?.onRequestStart?.(controller, {});
    handler?.onResponseStart?.(controller, 200, {});
    handler?.onResponseData?.(controller, Buffer.from('PK'));
    handler?.onResponseEnd?.(controller, {});
    expect(await result).toMatchObject({
      kind: 'failed',
      reason: 'the answer could not be written: no space left on device',
    });
    write.mockRestore();
    await rm(folder, { recursive: true });
  });

  it('takes a dispatcher that throws for a request that never went', async () => {
    const broken = {
      dispatch: () => {
        throw new Error('bad header');
      },
    };
    expect(await start(broken)).toEqual({ kind: 'failed', written: false, reason: 'bad header' });
  });
});
