import type { JsonObject } from '#kernel';
import type { Caller, OperationCall } from '../src/call/caller.js';
import { classify } from '../src/call/classify.js';
import type { Exchange } from '../src/call/exchange.js';
import { Requests } from '../src/call/requests.js';
import type { CallOutcome, RawAnswer } from '../src/port.js';
import type { Profile } from '../src/profile.js';
import type { OperationName } from '../src/profile-names.js';

export interface Asked {
  account: string;
  operation: OperationName;
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export const answer = (
  body: JsonObject | string | Buffer,
  httpStatus = 200,
  contentType = 'application/json;charset=UTF-8',
): RawAnswer => ({
  httpStatus,
  contentType,
  body: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8'),
  receivedMonotonicMs: 0,
  receivedAt: new Date(0),
});

/**
 * Answers calls without a network, in order; the last answer stays. What is asked is written down, JSON bodies parsed.
 */
export class ScriptedCaller implements Caller {
  readonly asked: Asked[] = [];
  readonly requests: Requests;
  /** How long was waited between repeats. */
  readonly waitsMs: number[] = [];
  readonly clock = { wait: (delayMs: number): Promise<void> => Promise.resolve(void this.waitsMs.push(delayMs)) };

  constructor(
    readonly profile: Profile,
    private readonly answers: (RawAnswer | Exchange | ((asked: Asked) => RawAnswer))[],
  ) {
    this.requests = new Requests(profile);
  }

  link: Caller['link'] = (link, operation) =>
    link.startsWith('/')
      ? { value: { method: this.profile.operations[operation].method, origin: 'http://127.0.0.1', path: link } }
      : { problem: 'a foreign link' };

  call<T>(account: string, operation: OperationName, what: OperationCall<T>): Promise<CallOutcome<T>> {
    const { method, path, body } = what.request;
    const headers = 'headers' in what.request ? what.request.headers : undefined;
    const asked: Asked = { account, operation, method, path };
    if (body !== undefined) asked.body = typeof body === 'string' ? JSON.parse(body) : Buffer.from(body);
    if (headers !== undefined) asked.headers = headers;
    this.asked.push(asked);
    const next = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (next === undefined) throw new Error('no answer was given');
    const came = typeof next === 'function' ? next(asked) : next;
    const exchange: Exchange = 'kind' in came ? came : { kind: 'answered', raw: came, retryAfter: undefined };
    return Promise.resolve(classify(exchange, what.manner, { fields: this.profile.fields, read: what.read }));
  }
}
