import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { SOFTWARE_VERSION } from '#event-store';
import { defined, PedigreeError } from '#kernel';
import type { ProofLine } from '#proofs';
import { answerProofLines } from '#sealed-log';
import type { ServiceLog } from '#service';
import type { CallerRequest } from '../access/access.guard.js';
import type { Role } from '../access/key-table.js';
import { whenEnded } from '../api/body-limits.js';
import { FILE_TYPES } from '../api/file-types.js';
import { momentOfReading, type ReadMoment } from './moment.js';
import { PROVABLE, type LogAndTables, type Provable } from './provable.js';

export interface AnswerProofParts extends LogAndTables {
  log: Pick<ServiceLog, 'error'>;
}

/** A proof has the bytes of evidence, which not every caller may see. */
const MAY_PROVE: Role[] = ['operator', 'auditor', 'admin'];
/** A proof reads much; more of them at once would take the database from the others. */
const MOST_AT_ONCE = 4;

interface Asked extends ReadMoment {
  provable: Provable;
}

/**
 * With `proof=1` an answer comes with what proves it: the body that the plain route gives, as it is sent, and behind it
 * the events that it was made from. The routes know nothing of it.
 */
export function proveAnswers(fastify: FastifyInstance, parts: AnswerProofParts): void {
  const asked = new WeakMap<FastifyRequest, Asked>();
  let running = 0;
  fastify.addHook('preHandler', async (request, reply) => {
    const provable = wantedOf(request);
    if (provable === undefined) return;
    if (running >= MOST_AT_ONCE)
      throw refused('unavailable', `${MOST_AT_ONCE} answers are being proven already; ask again in a moment`);
    running += 1;
    whenEnded(request, reply, () => (running -= 1));
    asked.set(request, { provable, ...(await momentOfReading(parts, provable)) });
  });
  fastify.addHook('onSend', async (request, reply, payload) => {
    const one = asked.get(request);
    asked.delete(request);
    return one === undefined || reply.statusCode !== 200
      ? payload
      : provenAnswer(parts, one, { request, reply, payload });
  });
}

/** Undefined where no proof is asked for. The parameter is taken away: the route has others. */
function wantedOf(request: FastifyRequest): Provable | undefined {
  const query = request.query as Record<string, unknown>;
  const { proof } = query;
  if (proof === undefined || request.is404) return undefined;
  const provable = PROVABLE[request.routeOptions.url ?? ''];
  if (provable === undefined || request.method !== 'GET')
    throw refused('invalid_parameter', 'this answer cannot be proven');
  if (proof !== '1') throw refused('invalid_parameter', 'must be 1');
  const { roles } = (request as CallerRequest).caller;
  if (!MAY_PROVE.some((role) => roles.includes(role)))
    throw new PedigreeError('forbidden', `a proof needs one of the roles ${MAY_PROVE.join(', ')}`, {
      field: 'Authorization',
    });
  delete query['proof'];
  // The proof is NDJSON; the answer in it is the plain one.
  if (request.headers.accept === FILE_TYPES.ndjson) request.headers.accept = 'application/json';
  return provable;
}

interface Sent {
  request: FastifyRequest;
  reply: FastifyReply;
  payload: unknown;
}

async function provenAnswer(
  { log, ...parts }: AnswerProofParts,
  { provable, readAt, position }: Asked,
  { request, reply, payload }: Sent,
): Promise<unknown> {
  const type = String(reply.getHeader('content-type') ?? '');
  if (typeof payload !== 'string' || !type.startsWith('application/json'))
    throw refused('invalid_parameter', 'only an answer in JSON is proven; leave out Accept');
  const body = JSON.parse(payload) as Record<string, unknown>;
  const names = new Set(await provable.streams({ ...parts, query: request.query, body }));
  const only = provable.only?.(body);
  const streams = [...names].map((stream) => ({ stream, ...defined({ only }) }));
  const answer = {
    route: plainRoute(request.url),
    readAt,
    position,
    software: SOFTWARE_VERSION,
    body: payload,
    streams,
  };
  const lines = answerProofLines(parts, answer);
  // What cannot be proven is said before the answer begins.
  const first = await lines.next();
  // For whoever records what goes out: the bytes of evidence are in it.
  Object.assign(request.query as object, { proof: '1' });
  void reply.header('content-type', FILE_TYPES.ndjson).removeHeader('content-length');
  const text = Readable.from(textOf(first, lines));
  // The connection breaks off then, so that nobody takes the part for the whole.
  text.on('error', (err) => log.error({ err, url: request.url }, 'could not complete a proof'));
  return text;
}

async function* textOf(
  first: IteratorResult<ProofLine, void>,
  rest: AsyncGenerator<ProofLine, void>,
): AsyncGenerator<string> {
  for (let one = first; one.done !== true; one = await rest.next()) yield `${JSON.stringify(one.value)}\n`;
}

/** The address without the parameter, as the plain answer is asked for. */
function plainRoute(url: string): string {
  const [path = '', query = ''] = url.split('?');
  const kept = query.split('&').filter((one) => !/^proof(=|$)/.test(one));
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

const refused = (code: 'invalid_parameter' | 'unavailable', why: string): PedigreeError =>
  new PedigreeError(code, `proof: ${why}`, { field: 'proof' });
