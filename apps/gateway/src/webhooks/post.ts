import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { hostOf, type AddressRules } from './addresses.js';

export interface PostOptions {
  rules: AddressRules;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  /** Ends the request early. */
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  retryAfterMs?: number;
}

/** An answer's body is read so far and then cut off: nothing in it is of use to us, and none of it is kept. */
const MOST_ANSWER_BYTES = 16 * 1024;
const MOST_HEADER_BYTES = 16 * 1024;

/**
 * Posts once. Resolves with the status of whatever answered, redirects too, which are not followed. Rejects when
 * nothing did in time, or when the address is one that nothing may be posted to. Node's own client is used because it
 * connects to the very address that its `lookup` has judged; fetch would look up again.
 */
export function post(url: URL, { rules, headers, body, timeoutMs, signal }: PostOptions): Promise<Answer> {
  const host = hostOf(url);
  const why = isIP(host) === 0 ? undefined : rules.whyNot(url.protocol, host);
  if (why !== undefined) return Promise.reject(new Error(`it ${why}`));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const late = AbortSignal.timeout(timeoutMs);
  const over = AbortSignal.any([signal, late]);
  return new Promise((resolve, reject) => {
    let answer: Answer | undefined;
    // Whether the body comes whole does not matter: the status has said everything.
    const end = (error: Error): void => (answer === undefined ? reject(error) : resolve(answer));
    // Whatever the client leaves untold ends here. And Node 20 collects a time-out that only `any` refers to.
    late.addEventListener('abort', () => end(new Error(`no answer within ${timeoutMs} ms`)), { once: true });
    const options = {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: false as const,
      maxHeaderSize: MOST_HEADER_BYTES,
    };
    const request = send(url, { ...options, lookup: rules.lookupFor(url.protocol), signal: over }, (response) => {
      const given = (answer = answerOf(response));
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MOST_ANSWER_BYTES) response.destroy();
      });
      response.on('error', end);
      response.once('close', () => resolve(given));
    });
    // A switch to another protocol, which the client would tell nobody of.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(answerOf(response));
    });
    request.on('error', end);
    request.end(body);
  });
}

const answerOf = ({ statusCode, headers }: IncomingMessage): Answer => ({
  status: statusCode ?? 0,
  ...retryAfterOf(headers['retry-after']),
});

/** Seconds, as Retry-After may say them; a date there is passed over, our own back-off will do. */
function retryAfterOf(header: string | undefined): { retryAfterMs?: number } {
  return header !== undefined && /^\d{1,6}$/.test(header) ? { retryAfterMs: Number(header) * 1_000 } : {};
}
