import { DeadlineExceededError, UnavailableError } from '@eventstore/db-client';
import uuids from '@eventstore/db-client/dist/utils/grpcUUID.js';
import commandErrors from '@eventstore/db-client/dist/utils/CommandError.js';
import answerErrors from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { randomUUID } from 'node:crypto';
import type { Clock } from '#kernel';

/** One call of the server's BatchAppend, as grpc-js gives it. */
export interface AppendDuplex {
  write(request: BatchAppendReq): boolean;
  end(): void;
  cancel(): void;
  on(event: 'data', listener: (response: BatchAppendResp) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

interface Waiting {
  resolve: (response: BatchAppendResp) => void;
  reject: (error: unknown) => void;
  sinceMs: number;
}

export interface AppendCallOptions {
  clock: Clock;
  /** Longest time that an answer may take. */
  answerWithinMs: number;
  /** Called once, when no append can go this way any more. */
  onLost: () => void;
}

/**
 * One open call on which the appends of a store go out, each under a number of its own, and are answered in any order.
 * When it breaks, or an answer stays away, every append that waits is rejected: the outcome of each is unknown. What is
 * written waits in memory for the connection; the store limits it.
 */
export class AppendCall {
  /** By number, the oldest first. */
  private readonly waiting = new Map<string, Waiting>();
  private readonly ending = new AbortController();
  private failure: Error | undefined;
  private isWatching = false;

  constructor(
    private readonly call: AppendDuplex,
    private readonly options: AppendCallOptions,
  ) {
    call.on('data', (response) => this.answered(response));
    call.on('error', (error) => this.lose(commandErrors.convertToCommandError(error)));
    call.on('end', () => {
      this.lose(new UnavailableError(undefined, 'the server ended the call that appends'));
      // Else our half of it stays open, and the client waits for that when it is closed.
      call.end();
    });
  }

  /** Sends the parts of one append and gives the server's answer to it: a success, or a refusal for `errorOf`. */
  append(parts: BatchAppendReq[]): Promise<BatchAppendResp> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const number = randomUUID();
    const id = new shared.UUID().setString(number);
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, sinceMs: this.options.clock.monotonicMs() });
      for (const part of parts) this.call.write(part.setCorrelationId(id));
      if (!this.isWatching) void this.watch();
    });
  }

  /** Ends the call; whoever waits is rejected. */
  cancel(reason: Error): void {
    this.lose(reason);
    this.call.cancel();
  }

  private answered(response: BatchAppendResp): void {
    const number = uuids.parseUUID(response.getCorrelationId()) ?? '';
    this.waiting.get(number)?.resolve(response);
    this.waiting.delete(number);
  }

  private lose(error: Error): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.ending.abort();
    this.options.onLost();
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  /** While answers are owed: gives the call up when the oldest has not come in time. */
  private async watch(): Promise<void> {
    const { clock, answerWithinMs } = this.options;
    this.isWatching = true;
    for (let [oldest] = this.waiting.values(); oldest !== undefined; [oldest] = this.waiting.values()) {
      const restMs = oldest.sinceMs + answerWithinMs - clock.monotonicMs();
      if (restMs <= 0)
        this.cancel(new DeadlineExceededError(undefined, `an append was not answered within ${answerWithinMs} ms`));
      else await clock.wait(restMs, this.ending.signal);
    }
    this.isWatching = false;
  }
}

/** Why the server refused an append, in the client's own kinds; undefined when it did not. */
export function errorOf(response: BatchAppendResp): Error | undefined {
  const error = response.getError();
  if (error === undefined) return undefined;
  return answerErrors.unpackToCommandError(
    error,
    Buffer.from(response.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
  );
}
