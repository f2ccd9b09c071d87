import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { ServiceLog } from '#service';
import { Contradiction, type LogSource } from '#sealed-log';
import { logFile, type LogFile } from './log-files.js';

export interface ServeOptions {
  source: LogSource;
  /** Whoever asks must know it; absent: whoever reaches the port may ask. */
  token: string | undefined;
  log: ServiceLog;
}

/** A checkpoint is another one soon; what a tile or a bundle is, it stays (C2SP tlog-tiles, APIs). */
const HEADERS = {
  checkpoint: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' },
  tile: { 'content-type': 'application/octet-stream', 'cache-control': 'private, max-age=31536000, immutable' },
  entries: { 'content-type': 'application/octet-stream', 'cache-control': 'private, max-age=31536000, immutable' },
  events: { 'content-type': 'application/x-ndjson', 'cache-control': 'private, max-age=31536000, immutable' },
} as const;

/** Answers GET for the files of the log. */
export const serveLog =
  (options: ServeOptions): RequestListener =>
  (request, response) =>
    void answer(options, request, response).catch((err: unknown) => {
      options.log.error({ err }, 'could not serve a log file');
      if (response.headersSent) return void response.destroy();
      // What was changed is not given away as if it were the log.
      const words = err instanceof Contradiction ? `the log contradicts what was signed: ${err.message}` : 'try again';
      refuse(response, err instanceof Contradiction ? 500 : 503, words);
    });

async function answer(
  { source, token }: ServeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!request.complete) response.setHeader('connection', 'close');
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, 'only GET is answered here');
  if (token !== undefined && !isToken(request.headers.authorization, token))
    return refuse(response, 401, 'the token of AUDIT_LOG_TOKEN_FILE is needed: Authorization: Bearer TOKEN');
  const file = await logFile(source, (request.url?.split('?')[0] ?? '').slice(1));
  if (file === undefined) return refuse(response, 404, 'the log has no such file');
  send(file, request, response);
}

function send({ kind, bytes }: LogFile, request: IncomingMessage, response: ServerResponse): void {
  const isZipped =
    (kind === 'entries' || kind === 'events') && /\bgzip\b/.test(String(request.headers['accept-encoding']));
  const body = isZipped ? gzipSync(bytes) : bytes;
  response.writeHead(200, {
    ...HEADERS[kind],
    vary: 'accept-encoding',
    'content-length': body.length,
    ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest((header ?? '').replace(/^bearer +/i, 'Bearer ')), digest(`Bearer ${token}`));
}

const refuse = (response: ServerResponse, status: number, words: string): void =>
  void response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${words}\n`);
