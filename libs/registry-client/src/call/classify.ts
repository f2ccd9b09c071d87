import { isJsonObject } from '#kernel';
import type { CallOutcome, RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import { errorCodeOf, jsonOf, readErrorBody, type ErrorBody } from './error-body.js';
import type { Exchange } from './exchange.js';

/** What a 404 means for the call at hand. */
type Meaning404 =
  /** The thing is absent or not yet visible (status, receipt, download). */
  | 'absent'
  /** Only in the registry's own words; a proxy's 404 or an unknown route proves nothing. */
  | 'absent_if_registry_says_so'
  /** No such path: a refusal. */
  | 'refused';

/** How the outcomes of one call are told apart. */
export interface CallManner {
  /** Whether doing it twice would be wrong. Then anything that leaves doubt is `unknown`. */
  changes: boolean;
  on404: Meaning404;
}

/** What a reader of a good answer found, or in words why the answer is not understood. */
export type Reading<T> = { value: T } | { problem: string };

const NOT_FOUND_CODE = '2';

/**
 * The outcome of an exchange (port: CallOutcome). HTTP 401 and the learning from 429 are the caller's; here a 401 is a
 * refusal.
 *
 * | on the wire                              | read                | call that changes something |
 * |------------------------------------------|---------------------|-----------------------------|
 * | nothing written                          | not_sent            | not_sent                    |
 * | written, no whole answer                 | unknown             | unknown                     |
 * | 2xx understood                           | ok                  | ok                          |
 * | 2xx with the registry's error code       | not_found / refused | refused                     |
 * | 2xx not understood                       | unknown             | unknown                     |
 * | 3xx, 408                                 | refused             | unknown                     |
 * | 404                                      | by the call         | refused                     |
 * | 429                                      | rate_limited        | rate_limited                |
 * | other 4xx                                | refused             | refused                     |
 * | 5xx, whoever wrote it                    | unknown             | unknown                     |
 *
 * An answer that is not understood is useless, unless it is a page, or nothing at all: so speaks a server before a
 * registry that is away. A refusal in another shape than the registry's says so (`mayBeOthers`): whoever would end
 * something by it doubts it.
 */
export function classify<T>(
  result: Exchange,
  manner: CallManner,
  options: { fields: Profile['fields']; read: (raw: RawAnswer) => Reading<T> },
): CallOutcome<T> {
  if (result.kind === 'failed') {
    const { written, reason, isTooLarge = false } = result;
    return written ? { kind: 'unknown', reason, ...useless(manner, isTooLarge) } : { kind: 'not_sent', reason };
  }
  const { raw } = result;
  const status = raw.httpStatus;
  if (status >= 200 && status < 300) return fromSuccess(raw, manner, options);
  const body = readErrorBody(raw, options.fields);
  if (status === 429) return { kind: 'rate_limited', text: body.text, raw };
  if (mayHaveTakenEffect(status, manner)) return { kind: 'unknown', reason: `HTTP ${status}: ${body.text}`, raw };
  if (status === 404 && isAbsent(body, manner)) return { kind: 'not_found', text: body.text, raw };
  const refused = { kind: 'refused', code: body.code ?? `http_${status}`, text: body.text, raw } as const;
  return body.shape === 'registry' ? refused : { ...refused, mayBeOthers: true };
}

/** What a change did is open all the same. */
const useless = ({ changes }: CallManner, isIt: boolean): { isUseless?: true } =>
  isIt && !changes ? { isUseless: true } : {};

const mayHaveTakenEffect = (status: number, { changes }: CallManner): boolean =>
  status >= 500 || (changes && (status < 400 || status === 408));

function isAbsent(body: ErrorBody, manner: CallManner): boolean {
  if (manner.changes || manner.on404 === 'refused') return false;
  return manner.on404 === 'absent' || body.shape === 'registry';
}

function fromSuccess<T>(
  raw: RawAnswer,
  manner: CallManner,
  options: { fields: Profile['fields']; read: (raw: RawAnswer) => Reading<T> },
): CallOutcome<T> {
  const reading = options.read(raw);
  if ('value' in reading) return { kind: 'ok', value: reading.value, raw };
  const json = jsonOf(raw);
  const code = isJsonObject(json) ? errorCodeOf(json, options.fields) : undefined;
  const { text, shape } = readErrorBody(raw, options.fields);
  if (code === undefined) {
    const isUseless = raw.file !== undefined || (shape !== 'html' && shape !== 'empty');
    const reason = `HTTP ${raw.httpStatus}: ${reading.problem}`;
    return { kind: 'unknown', reason, ...useless(manner, isUseless), raw };
  }
  return code === NOT_FOUND_CODE && !manner.changes
    ? { kind: 'not_found', text, raw }
    : { kind: 'refused', code, text, raw };
}

/**
 * Retry-After of a 429 in milliseconds: whole seconds or a date (RFC 9110, 10.2.3). Undefined when absent or nonsense;
 * at most an hour.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const delayMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isNaN(delayMs) || delayMs < 0 ? undefined : Math.min(delayMs, 3_600_000);
}
