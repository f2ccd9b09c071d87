import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { PedigreeError } from '#kernel';
import { BodyMemory, wholeBody, type BodyShare } from './body-memory.js';

/** Largest line of NDJSON, and largest JSON body whose length is not told beforehand. */
export const MAX_COMMAND_BYTES = 8 * 1024 * 1024;
/**
 * Largest command at all: a JSON body that tells its length. A document of 32 MiB fits in with its quotation marks
 * escaped.
 */
export const MAX_LARGE_COMMAND_BYTES = 48 * 1024 * 1024;
/** Bytes of every part of a stock file but the last. */
export const PART_BYTES = 4 * 1024 * 1024;
/** Bodies above MAX_COMMAND_BYTES that are taken in at the same time: each costs memory several times its size. */
const LARGE_AT_ONCE = 2;

/** How long a request's body may take, and how much is kept for a client that does not read its answer. */
export interface BodyLimits {
  /** From the end of the headers to the end of a JSON body. */
  jsonBodyMs: number;
  /** Longest pause in an NDJSON body, which may take as long as it likes in all. */
  idleMs: number;
  /**
   * Results of NDJSON lines that are kept for a client that writes before it reads: it may send so many lines at once.
   */
  maxUnreadResults: number;
  /** How long such a client is waited for, once so many are kept. */
  readPatienceMs: number;
  /** Bytes of bodies that are held in memory at once, over all requests. */
  mostHeldBytes: number;
}

export const DEFAULT_BODY_LIMITS: BodyLimits = {
  jsonBodyMs: 60_000,
  idleMs: 60_000,
  maxUnreadResults: 10_000,
  readPatienceMs: 30_000,
  mostHeldBytes: 128 * 1024 * 1024,
};

/**
 * After an answer that came before the end of the body, the sender has so long to read it before the connection is cut.
 */
const LINGER_MS = 2_000;

/** A request whose body is read: what it holds of all that may be held. */
export type ReadRequest = FastifyRequest & { bodyShare: BodyShare };

/**
 * JSON stays bytes, so that our own parser names the place of an error; NDJSON stays a stream and is never held whole.
 * XML is read where a document is only validated, and nothing else anywhere.
 */
export function readBodies(fastify: FastifyInstance, { mostHeldBytes }: BodyLimits): void {
  const memory = new BodyMemory(mostHeldBytes);
  fastify.addHook('preParsing', async (request, reply, payload) => {
    const share = memory.share();
    (request as ReadRequest).bodyShare = share;
    whenEnded(request, reply, () => share.end());
    return payload;
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/x-ndjson', (_request, payload, done) => done(null, payload));
  const whole = (
    request: FastifyRequest,
    payload: IncomingMessage,
    most = MAX_LARGE_COMMAND_BYTES,
  ): Promise<Buffer> => {
    const told = request.headers['content-length'];
    const { bodyShare: share } = request as ReadRequest;
    return wholeBody(payload, {
      share,
      toldBytes: told === undefined ? undefined : Number(told),
      mostToldBytes: most,
      mostBytes: Math.min(most, MAX_COMMAND_BYTES),
    });
  };
  fastify.addContentTypeParser('application/json', (request: FastifyRequest, payload: IncomingMessage) =>
    whole(request, payload),
  );
  const octets = async (request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> => {
    takenAt(PART_ROUTE, request, 'bytes are taken as parts of a stock file alone: send JSON');
    return whole(request, payload, PART_BYTES);
  };
  fastify.addContentTypeParser('application/octet-stream', octets);
  fastify.addContentTypeParser(XML_TYPES, async (request: FastifyRequest, payload: IncomingMessage) => {
    takenAt(XML_ROUTE, request, 'XML by itself is taken for validation alone: send JSON');
    return whole(request, payload);
  });
}

/** What is packed would be refused as broken text, or be counted by its packed length. */
export function refuseEncoded(fastify: FastifyInstance): void {
  fastify.addHook('preParsing', async ({ headers }, _reply, payload) => {
    const { 'content-encoding': encoding = 'identity' } = headers;
    if (!['', 'identity'].includes(encoding.trim().toLowerCase()))
      throw new PedigreeError(
        'unsupported_media_type',
        `Content-Encoding ${encoding} is not taken: send the body plain`,
      );
    return payload;
  });
}

function takenAt(route: string, { routeOptions }: FastifyRequest, otherwise: string): void {
  if (routeOptions.url !== route) throw new PedigreeError('unsupported_media_type', otherwise);
}

/** Where parts of a stock file come. */
const PART_ROUTE = '/v1/stock-uploads/:uploadId/parts/:n';

const XML_TYPES = ['application/xml', 'text/xml'];
/** Where a document comes by itself, without a command around it. */
const XML_ROUTE = '/v1/validate';

export const isXml = ({ headers }: FastifyRequest): boolean =>
  XML_TYPES.some((type) => headers['content-type']?.startsWith(type) === true);

/**
 * The HTTP server itself cannot tell a long upload from a stalled one, so its own limit on bodies is off and these take
 * its place.
 */
export function limitBodies(fastify: FastifyInstance, { jsonBodyMs }: BodyLimits): void {
  let largeUnderWay = 0;
  fastify.addHook('preParsing', async (request, reply, payload) => {
    const told = request.headers['content-length'];
    if (request.headers['content-type']?.startsWith('application/x-ndjson') === true || told === undefined)
      return payload;
    if (Number(told) <= MAX_COMMAND_BYTES || Number(told) > MAX_LARGE_COMMAND_BYTES) return payload;
    if (largeUnderWay >= LARGE_AT_ONCE)
      throw new PedigreeError(
        'backlog_full',
        `${largeUnderWay} commands of more than ${MAX_COMMAND_BYTES} bytes are being taken; try again later`,
      );
    largeUnderWay += 1;
    whenEnded(request, reply, () => (largeUnderWay -= 1));
    return payload;
  });
  fastify.addHook('preParsing', async (request, reply, payload) => {
    if (request.headers['content-type']?.startsWith('application/x-ndjson') !== true) {
      const timer = setTimeout(() => {
        if (request.raw.complete || reply.sent) return;
        void reply.send(new PedigreeError('request_timeout', `the body was not there within ${jsonBodyMs} ms`));
      }, jsonBodyMs);
      whenEnded(request, reply, () => clearTimeout(timer));
    }
    return payload;
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    if (!request.raw.complete) setTimeout(() => request.raw.complete || request.raw.destroy(), LINGER_MS).unref();
    done();
  });
}

/**
 * Calls back when the answer is out or the connection gone. An answer that waits behind another one of its connection
 * (pipelining) never closes by itself when that connection does.
 */
export function whenEnded(
  { raw: { socket } }: FastifyRequest,
  { raw: response }: FastifyReply,
  ended: () => void,
): void {
  const end = (): void => {
    response.off('close', end);
    socket.off('close', end);
    ended();
  };
  // While the key was looked at the client may have gone.
  if (response.closed || socket.destroyed) return ended();
  response.once('close', end);
  // A client may have any number of requests under way on one connection.
  socket.setMaxListeners(0).once('close', end);
}
