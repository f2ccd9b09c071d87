import type { IncomingMessage } from 'node:http';
import { refuse } from './refusal.js';

/** The connection ended before the request did: there is nobody to answer, and nothing to complain of. */
export class CallerGone extends Error {}

/**
 * The whole body, or a 413 when it is longer than `maxBytes`. What is too much is read and thrown away, up to a bound.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else if (length > maxBytes * 8) request.destroy();
    });
    request.on('end', () => {
      if (length > maxBytes) reject(refuse(413, `the body is longer than ${maxBytes} bytes`));
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    });
    request.on('error', () => reject(new CallerGone()));
    request.on('aborted', () => reject(new CallerGone()));
  });
}

/** The body as a JSON object, or a 400 that says what is wrong. */
export function jsonObjectOf(body: Buffer): Record<string, unknown> {
  if (body.length === 0) throw refuse(400, 'the body is missing');
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw refuse(400, `the body is not JSON: ${(error as Error).message}`);
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  throw refuse(400, 'the body is not a JSON object');
}

/** A list of texts in the JSON body, from one to `most`; throws a 400 that names the field. */
export function textsOf(body: Buffer, field: string, most: number): string[] {
  const list = jsonObjectOf(body)[field];
  if (!Array.isArray(list) || list.length === 0) throw refuse(400, `${field} is missing or empty`);
  if (list.length > most) throw refuse(400, `${field} holds more than ${most} entries`);
  if (list.some((one) => typeof one !== 'string')) throw refuse(400, `${field} is not a list of texts`);
  return list as string[];
}
