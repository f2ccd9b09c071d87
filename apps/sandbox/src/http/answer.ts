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
  /** Called instead when misbehaviour keeps the answer from the caller: what he cannot know of must not bind him. */
  lost?: () => void;
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
  jsonAnswer(status, {
    timestamp: new Date().toISOString().replace('Z', '+0000'),
    status,
    error,
    message: error,
    path,
  });

/** What a gateway in front says (public-facts 1.9, shape 5). */
export const htmlAnswer = (status: number, title: string): Answer => ({
  status,
  body:
    `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body>\r\n<center><h1>${status} ${title}</h1>` +
    '</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
  contentType: 'text/html',
});

export function writeAnswer(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(answer.body),
    ...answer.headers,
  });
  response.end(answer.body);
  answer.answered?.(performance.now());
}

/** The head and half of the body, and then nothing: the connection breaks. */
export function cutAnswer(response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, { 'content-type': answer.contentType, 'content-length': body.length });
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

/** For a fault of ours that kept even the answer from being written: it ends this connection and not the sandbox. */
export function breakOff(response: ServerResponse, error: unknown): void {
  process.stderr.write(`sandbox: ${(error as Error).stack ?? String(error)}\n`);
  response.destroy();
}
