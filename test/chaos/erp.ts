import { setMaxListeners } from 'node:events';
import { request } from 'undici';
import { systemClock } from '#kernel';
import type { Fed, Message } from './subjects/subject.js';

const TIMEOUT_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 2_000;
/** Messages on their way at once; the others queue up, as they would in an ERP. */
const MOST_AT_ONCE = 32;
const REFUSED_FROM = 400;
const REFUSED_TO = 500;
/** Answers in that range that only mean: later. */
const LATER = new Set([408, 425, 429]);

export interface ErpOptions {
  gateways: string[];
  /** Resolves when the broker has confirmed; undefined where there is none. */
  publish: ((message: Message) => Promise<void>) | undefined;
  messages: Message[];
}

/**
 * The accounting system: gives each message in its time, again and again until it is acknowledged or refused, and keeps
 * a record of both.
 */
export class Erp {
  readonly fed: Fed[];
  private readonly byKey: Map<string, Fed>;
  private readonly startedMs = systemClock.monotonicMs();
  private turn = 0;

  constructor(private readonly options: ErpOptions) {
    this.fed = options.messages.map((message) => ({ ...message, attempts: 0 })).sort((a, b) => a.atMs - b.atMs);
    this.byKey = new Map(this.fed.map((one) => [one.key, one]));
    if (this.byKey.size !== this.fed.length) throw new Error('two messages have the same key');
  }

  /** Ends when everything was answered, or the signal aborts. */
  async feed(signal: AbortSignal): Promise<void> {
    const waiting = [...this.fed];
    setMaxListeners(MOST_AT_ONCE + 1, signal);
    const feeder = async (): Promise<void> => {
      for (let one = waiting.shift(); one !== undefined && !signal.aborted; one = waiting.shift()) {
        await systemClock.wait(Math.max(0, one.atMs - this.sinceStartMs()), signal);
        await this.give(one, signal);
      }
    };
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, feeder));
  }

  get open(): number {
    return this.fed.filter((one) => one.acknowledgedMs === undefined && one.refusedCode === undefined).length;
  }

  private async give(one: Fed, signal: AbortSignal): Promise<void> {
    const before = one.followsKey === undefined ? undefined : this.byKey.get(one.followsKey);
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(MOST_PAUSE_MS, 2 * pauseMs)) {
      if (before === undefined || before.acknowledgedMs !== undefined) {
        one.attempts += 1;
        // No answer, or one that says nothing of the message: nobody knows whether it was taken, and a repeat does no
        // harm.
        const answered = await (one.via === 'amqp' ? this.publish(one) : this.post(one)).catch(() => false);
        if (answered) return;
      }
      await systemClock.wait(pauseMs, signal);
    }
  }

  private async publish(one: Fed): Promise<boolean> {
    if (this.options.publish === undefined) throw new Error('there is no broker');
    await this.options.publish(one);
    one.acknowledgedMs = this.sinceStartMs();
    return true;
  }

  private async post(one: Fed): Promise<boolean> {
    this.turn += 1;
    const gateway = this.options.gateways[this.turn % this.options.gateways.length] as string;
    const { statusCode, body } = await request(`${gateway}/v1/commands`, {
      method: 'POST',
      headers: { 'content-type': one.contentType ?? 'application/json' },
      body: one.body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const text = await body.text();
    if (statusCode === 200 || statusCode === 202) {
      one.acknowledgedMs = this.sinceStartMs();
      return true;
    }
    if (statusCode < REFUSED_FROM || statusCode >= REFUSED_TO || LATER.has(statusCode)) return false;
    one.refusedCode = (JSON.parse(text) as { code: string }).code;
    return true;
  }

  private sinceStartMs(): number {
    return Math.round(systemClock.monotonicMs() - this.startedMs);
  }
}
