import type { ServerResponse } from 'node:http';

/** An answer before it is written. */
export interface Answer {
  status: number;
  /** A text goes out in one piece with its head, which is cheaper than bytes. */
  body: string | Buffer;
  contentType: string;
  headers?: Record<string, string>;
  /** Called with the monotonic moment at which the answer was written out. */
  answered?: (realMs: number) => void;
}

const JSON_TYPE = 'application/json;charset=UTF-8';

export const jsonAnswer = (status: number, value: unknown, headers?: Record<string, string>): Answer => ({
  status,
  body: JSON.stringify(value),
  contentType: JSON_TYPE,
  ...(headers === undefined ? {} : { headers }),
});

export const xmlAnswer = (body: Buffer): Answer => ({ status: 200, body, contentType: 'application/xml' });
export const emptyAnswer = (): Answer => ({ status: 200, body: '', contentType: JSON_TYPE });

/** The shape of errors that no operation gives (public-facts 1.9, shape 2). */
export const springAnswer = (status: number, error: string, path: string): Answer =>
  jsonAnswer(status, { timestamp: new Date().toISOString(), status, error, message: 'No message available', path });

export function writeAnswer(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, { 'content-type': answer.contentType, 'content-length': Buffer.byteLength(answer.body), ...answer.headers });
  response.end(answer.body);
  answer.answered?.(performance.now());
}
