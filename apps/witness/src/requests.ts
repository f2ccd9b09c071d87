import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Answer, Witness } from './witness.js';

/** 63 lines of proof, and a checkpoint with signatures of every kind. */
const MOST_BODY_BYTES = 256 * 1_024;

class TooLong extends Error {}

/** Answers `POST /add-checkpoint` (C2SP tlog-witness), and tells each answer to `told`. */
export const answerRequests =
  (witness: Pick<Witness, 'addCheckpoint'>, told: (answer: Answer) => void): RequestListener =>
  (request, response) =>
    void answer(request, response, { witness, told }).catch((error: unknown) => {
      const isTooLong = error instanceof TooLong;
      response.setHeader('connection', 'close');
      send(response, isTooLong ? 413 : 500, isTooLong ? 'the body is too long\n' : 'a fault of the witness\n');
      // For the log: who guards requests hears it.
      if (!isTooLong) throw error;
    });

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { witness, told }: { witness: Pick<Witness, 'addCheckpoint'>; told: (answer: Answer) => void },
): Promise<void> {
  if (request.url?.split('?')[0] !== '/add-checkpoint') return refuse(request, response, 404);
  if (request.method !== 'POST') return refuse(request, response, 405);
  const body = await bodyOf(request);
  const given = witness.addCheckpoint(body);
  told(given);
  response.setHeader('content-type', given.contentType);
  response.writeHead(given.status).end(given.body);
}

/** The body is not read: whoever sends one hears at once that nobody takes it. */
function refuse(request: IncomingMessage, response: ServerResponse, status: 404 | 405): void {
  if (!request.complete) response.setHeader('connection', 'close');
  if (status === 405) response.setHeader('allow', 'POST');
  send(response, status, 'only POST /add-checkpoint is answered here\n');
}

function send(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES) throw new TooLong();
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: false }).decode(Buffer.concat(chunks));
}
