import type { FastifyInstance } from 'fastify';
import { PedigreeError } from '#kernel';

/** Largest line of NDJSON, and largest JSON body whose length is not told beforehand. */
export const MAX_COMMAND_BYTES = 8 * 1024 * 1024;
/** Largest command at all: a JSON body that tells its length. A document of 32 MiB fits in with its quotation marks escaped. */
export const MAX_LARGE_COMMAND_BYTES = 48 * 1024 * 1024;
/** Bodies above MAX_COMMAND_BYTES that are taken in at the same time: each costs memory several times its size. */
const LARGE_AT_ONCE = 2;

/** How long a request's body may take, and how much is kept for a client that does not read its answer. */
export interface BodyLimits {
  /** From the end of the headers to the end of a JSON body. */
  jsonBodyMs: number;
  /** Longest pause in an NDJSON body, which may take as long as it likes in all. */
  idleMs: number;
  /** Results of NDJSON lines that are kept for a client that writes before it reads: it may send so many lines at once. */
  maxUnreadResults: number;
  /** How long such a client is waited for, once so many are kept. */
  readPatienceMs: number;
}

export const DEFAULT_BODY_LIMITS: BodyLimits = { jsonBodyMs: 60_000, idleMs: 60_000, maxUnreadResults: 10_000, readPatienceMs: 30_000 };

/** After an answer that came before the end of the body, the sender has so long to read it before the connection is cut. */
const LINGER_MS = 2_000;

/** The HTTP server itself cannot tell a long upload from a stalled one, so its own limit on bodies is off and these take its place. */
export function limitBodies(fastify: FastifyInstance, { jsonBodyMs }: BodyLimits): void {
  let largeUnderWay = 0;
  fastify.addHook('preParsing', async (request, reply, payload) => {
    const told = request.headers['content-length'];
    if (request.headers['content-type']?.startsWith('application/x-ndjson') === true || told === undefined) return payload;
    if (Number(told) <= MAX_COMMAND_BYTES || Number(told) > MAX_LARGE_COMMAND_BYTES) return payload;
    if (largeUnderWay >= LARGE_AT_ONCE) throw new PedigreeError('backlog_full', `${largeUnderWay} commands of more than ${MAX_COMMAND_BYTES} bytes are being taken; try again later`);
    largeUnderWay += 1;
    reply.raw.once('close', () => (largeUnderWay -= 1));
    return payload;
  });
  fastify.addHook('preParsing', async (request, reply, payload) => {
    if (request.headers['content-type']?.startsWith('application/x-ndjson') !== true) {
      const timer = setTimeout(() => {
        if (request.raw.complete || reply.sent) return;
        void reply.send(new PedigreeError('request_timeout', `the body was not there within ${jsonBodyMs} ms`));
      }, jsonBodyMs);
      reply.raw.once('close', () => clearTimeout(timer));
    }
    return payload;
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    if (!request.raw.complete) setTimeout(() => request.raw.complete || request.raw.destroy(), LINGER_MS).unref();
    done();
  });
}
