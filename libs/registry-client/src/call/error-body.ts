import { isJsonObject, type JsonObject, type JsonValue } from '#kernel';
import type { RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import { parseExactly } from './exact-json.js';

/**
 * Which of the error bodies of public-facts 1.9 it is. `registry`: the service's own words; the others may come from a
 * proxy before it.
 */
export type ErrorShape = 'registry' | 'spring' | 'violations' | 'problem' | 'html' | 'text' | 'json' | 'empty';

export interface ErrorBody {
  shape: ErrorShape;
  /** The registry's own code, where it gives one. */
  code: string | undefined;
  /** One line, at most 500 characters. */
  text: string;
}

const LONGEST_TEXT = 500;

const scalar = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' && value !== ''
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;

/**
 * Foreign text as one line that can be stored and shown anywhere: control characters (PostgreSQL refuses NUL) become
 * blanks, halves of surrogate pairs (UTF-8 cannot carry them) the replacement character. The answer itself is kept byte
 * for byte in the evidence.
 */
export const oneLine = (text: string): string =>
  text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_TEXT)
    .replace(/[\uD800-\uDBFF]$/, '')
    .replace(/\p{Surrogate}/gu, '\uFFFD');

/** Text in UTF-8, without the byte order mark with which some servers begin it (RFC 8259, 8.1). */
export const textOf = (body: Buffer): string => body.toString('utf8').replace(/^\uFEFF/, '');

/**
 * The answer's JSON, or undefined when it is none. The escaping of JSON answers (registry-interface 7.3) is undone,
 * once; numbers lose nothing.
 */
export function jsonOf(raw: RawAnswer): JsonValue | undefined {
  try {
    return parseExactly(textOf(raw.body));
  } catch {
    return undefined;
  }
}

/** Reads any error body that exists in the wild (public-facts 1.9). */
export function readErrorBody(raw: RawAnswer, fields: Profile['fields']): ErrorBody {
  const json = jsonOf(raw);
  if (isJsonObject(json)) return fromObject(json, raw, fields);
  const text = raw.body
    .subarray(0, 64 * 1024)
    .toString('utf8')
    .trim();
  if (text === '') return { shape: 'empty', code: undefined, text: `HTTP ${raw.httpStatus} without a body` };
  if (json !== undefined) return { shape: 'json', code: undefined, text: oneLine(text) };
  if (/html/i.test(raw.contentType) || /^<(!doctype|html|head|body)/i.test(text))
    return { shape: 'html', code: undefined, text: fromHtml(text) };
  return { shape: 'text', code: undefined, text: oneLine(text) };
}

function fromObject(json: JsonObject, raw: RawAnswer, fields: Profile['fields']): ErrorBody {
  const code = errorCodeOf(json, fields);
  const description = scalar(json[fields.error_description]) ?? scalar(json[fields.error_desc]);
  if (description !== undefined || code !== undefined)
    return { shape: 'registry', code, text: oneLine(description ?? `error ${code}`) };
  if (Array.isArray(json['violations']))
    return {
      shape: 'violations',
      code: undefined,
      text: oneLine(json['violations'].map((item) => scalar(item) ?? JSON.stringify(item)).join(', ')),
    };
  if (/problem\+json/i.test(raw.contentType) || ('title' in json && 'detail' in json)) {
    return {
      shape: 'problem',
      code: undefined,
      text: oneLine([scalar(json['title']), scalar(json['detail'])].filter(Boolean).join(': ')),
    };
  }
  if ('timestamp' in json && 'path' in json) {
    return {
      shape: 'spring',
      code: undefined,
      text: oneLine([scalar(json['error']), scalar(json['message']), scalar(json['path'])].filter(Boolean).join(': ')),
    };
  }
  return { shape: 'json', code: undefined, text: oneLine(raw.body.toString('utf8')) };
}

/** The registry's error code, also inside an answer of HTTP 200; 0 and nothing mean that all is well. */
export function errorCodeOf(json: JsonObject, fields: Profile['fields']): string | undefined {
  const code = scalar(json[fields.error_code]);
  return code === undefined || code === '0' || code === 'false' ? undefined : oneLine(code);
}

function fromHtml(text: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1];
  return oneLine(title ?? text.replace(/<[^>]*>/g, ' '));
}
