import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ExportBegun, ExportEnded } from '#domain';
import { defined } from '#kernel';
import { RETRY_AFTER_SECONDS, type ServiceLog } from '#service';
import { EPCIS } from '../api/epcis-answer.js';
import { FILE_TYPES, HTML } from '../api/file-types.js';
import { reportProblem } from '../api/problem.filter.js';
import { pathNamed } from '../api/unknown-parameters.js';
import { ACCESS_WINDOW_SECONDS, type AccessLog } from './access-log.js';
import type { CallerRequest } from './access.guard.js';

type Payload = Readable | Buffer | string | null | undefined;

/** A request whose answer is a list that goes out as a file. */
export type ExportingRequest = CallerRequest & { exportedRows?: number };

const EXPORTED = [...Object.values(FILE_TYPES), EPCIS, HTML];
/** Characters of a filter that are kept. */
const MOST_FILTER = 2_000;

/**
 * Records whatever goes out as a file, before its first byte: in one place, so that no route can forget it. Pages that
 * are read one by one as JSON are no exports, nor is a list without a line: a program that asks again and again whether
 * there is something would fill the log. What cannot be recorded does not go out.
 */
export function recordExports(fastify: FastifyInstance, accessLog: AccessLog, log: ServiceLog): void {
  fastify.addHook('onSend', async (request, reply, payload: Payload) => {
    if (!isExport(request, reply, payload)) return payload;
    const begun = begunBy(request, typeOf(reply));
    const by = { actor: (request as CallerRequest).caller.actor };
    try {
      const { bytes, rest } =
        payload instanceof Readable
          ? await heldOf(payload)
          : { bytes: Buffer.from(payload as string), rest: undefined };
      if (rest !== undefined) {
        await accessLog.exportBegun(begun, by);
        return Readable.from(recorded(rest, (end) => ended(request, begun, end), { accessLog, by, log }));
      }
      if (bytes.length === 0) return payload instanceof Readable ? Readable.from([]) : payload;
      const fileSha256 = createHash('sha256').update(bytes).digest('hex');
      const { exportId: _, ...end } = ended(request, begun, { complete: true, byteLength: bytes.length, fileSha256 });
      await accessLog.exported(begun, end, by);
      return payload instanceof Readable ? Readable.from([bytes]) : payload;
    } catch (error) {
      if (payload instanceof Readable) payload.destroy();
      return refusal(error, { request, reply, log });
    }
  });
}

function isExport(request: FastifyRequest, reply: FastifyReply, payload: Payload): boolean {
  if (!isAnswerOfList(request) || reply.statusCode !== 200 || payload === null || payload === undefined) return false;
  return typeOf(reply) !== undefined && (request as Partial<CallerRequest>).caller !== undefined;
}

/** Of the file that the answer is; undefined where it is none. */
function typeOf(reply: FastifyReply): string | undefined {
  const type = String(reply.getHeader('content-type') ?? '');
  return EXPORTED.find((one) => type.startsWith(one));
}

/** Lines that answer lines of commands are a file by their form alone. */
const isAnswerOfList = (request: ExportingRequest | FastifyRequest): boolean =>
  request.method === 'GET' || (request as ExportingRequest).exportedRows !== undefined;

function begunBy(request: FastifyRequest, format = 'unknown'): ExportBegun {
  const asked = { ...(request.params as object), ...(request.query as object) };
  const filter: Record<string, string> = {};
  let [kept, cut] = [0, 0];
  for (const [name, value] of Object.entries(asked).filter(([one]) => one !== 'cursor')) {
    const text = String(value).slice(0, Math.max(0, MOST_FILTER - kept));
    cut += String(value).length - text.length;
    kept += text.length;
    filter[name] = text;
  }
  return {
    type: 'ExportBegun',
    data: {
      exportId: randomUUID(),
      what: pathNamed(request.routeOptions.url),
      format,
      filter,
      ...(cut === 0 ? {} : { filterCut: cut }),
      address: request.raw.socket.remoteAddress ?? 'unknown',
    },
  };
}

type End = Pick<ExportEnded['data'], 'complete' | 'byteLength' | 'fileSha256'>;

const ended = (request: ExportingRequest | FastifyRequest, { data }: ExportBegun, end: End): ExportEnded['data'] => ({
  ...{ exportId: data.exportId, what: data.what },
  ...end,
  ...defined({ rows: (request as ExportingRequest).exportedRows }),
});

/** What is read before the first byte goes out: of what ends within it the digest is known then. */
const MOST_HELD_BYTES = 256 * 1024;

interface Held {
  /** All of it, where there is no more. */
  bytes: Buffer;
  /** The same chunks, of which the first are there already; undefined where that is all. */
  rest: AsyncIterable<Buffer | string> | undefined;
}

async function heldOf(source: Readable): Promise<Held> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer | string>;
  const held: Buffer[] = [];
  for (let size = 0; size <= MOST_HELD_BYTES;) {
    const next = await chunks.next();
    if (next.done === true) return { bytes: Buffer.concat(held), rest: undefined };
    const chunk = Buffer.from(next.value as string);
    held.push(chunk);
    size += chunk.length;
  }
  const rest = (async function* () {
    try {
      yield* held;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      source.destroy();
    }
  })();
  return { bytes: Buffer.alloc(0), rest };
}

/** The same bytes, and at their end, or where they break off, what went out. */
async function* recorded(
  source: AsyncIterable<Buffer | string>,
  endOf: (end: End) => ExportEnded['data'],
  { accessLog, by, log }: { accessLog: AccessLog; by: Parameters<AccessLog['exportEnded']>[1]; log: ServiceLog },
): AsyncGenerator<Uint8Array | string> {
  const hash = createHash('sha256');
  let [byteLength, complete] = [0, false];
  try {
    for await (const chunk of source) {
      hash.update(chunk);
      byteLength += Buffer.byteLength(chunk);
      yield chunk;
    }
    complete = true;
  } finally {
    const data = endOf({ complete, byteLength, fileSha256: hash.digest('hex') });
    await accessLog
      .exportEnded(data, by)
      .catch((err: unknown) => log.warn({ err, exportId: data.exportId }, 'could not record the end of an export'));
  }
}

function refusal(
  error: unknown,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: ServiceLog },
): string {
  const problem = reportProblem(error, log, { method: request.method, url: request.url });
  const seconds = problem.code === 'too_many_accesses' ? ACCESS_WINDOW_SECONDS : RETRY_AFTER_SECONDS;
  void reply
    .status(problem.status)
    .header('content-type', 'application/problem+json')
    .header('retry-after', String(seconds))
    .removeHeader('content-length')
    .removeHeader('content-disposition');
  return JSON.stringify(problem);
}
