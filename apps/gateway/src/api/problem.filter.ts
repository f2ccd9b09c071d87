import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { PedigreeError, type ErrorCode, type ErrorPlace } from '#kernel';
import { databaseIsAway } from '#postgres';
import { RETRY_AFTER_SECONDS, type ServiceLog } from '#service';
import { ACCESS_WINDOW_SECONDS } from '../access/access-log.js';
import { WRONG_KEYS_WINDOW_SECONDS } from '../access/wrong-keys.js';

/** An RFC 9457 problem document, with our code and the place of the error as extension members. */
export interface Problem extends ErrorPlace {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  /** Names one fault of ours: the log has its details under the same name. */
  instance?: string;
}

export function problemOf(error: PedigreeError): Problem {
  return {
    type: `urn:pedigree:problem:${error.code}`,
    title: error.code.replaceAll('_', ' '),
    status: error.httpStatus,
    detail: error.message,
    code: error.code,
    ...error.place,
  };
}

/**
 * What the HTTP layer refuses before our code is asked, by status; anything else below 500 is a parameter of some kind.
 */
const REFUSED_BY_HTTP: Record<number, ErrorCode> = {
  404: 'not_found',
  408: 'request_timeout',
  413: 'body_too_large',
  415: 'unsupported_media_type',
};

/** Whatever was thrown, as one of our errors. What is a fault of ours keeps its details for the log. */
function asPedigreeError(error: unknown): PedigreeError {
  if (error instanceof PedigreeError) return error;
  if (databaseIsAway(error))
    return new PedigreeError(
      'unavailable',
      'the database is away; nothing is known to have been stored, so the same may be given again',
    );
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  const status = error instanceof HttpException ? error.getStatus() : statusCode;
  if (status === undefined || status < 400 || status >= 500)
    return new PedigreeError('internal', 'an unexpected fault; the log has it under this instance');
  return new PedigreeError(REFUSED_BY_HTTP[status] ?? 'invalid_parameter', message ?? 'invalid request');
}

/** What is full or away, and what the auditor has not sealed yet, is no fault. */
const IS_TOLD_ELSEWHERE = new Set<ErrorCode>(['backlog_full', 'unavailable', 'not_sealed_yet']);

/** The auditor signs each minute while the log grows. */
const SIGNED_EVERY_SECONDS = 60;

/**
 * The problem document for whatever was thrown. A fault of ours goes into the log with all its details, and its name
 * into both. A full backlog or a database that is away is no fault. `where` tells the log what was asked; its `line`,
 * if any, is put into the problem too.
 */
export function reportProblem(
  error: unknown,
  log: ServiceLog,
  where: { method?: string; url?: string; line?: number },
): Problem {
  const known = asPedigreeError(error);
  const { line } = where;
  const problem = problemOf(
    line === undefined
      ? known
      : new PedigreeError(known.code, `line ${line}: ${known.message}`, { ...known.place, line }),
  );
  // What is full or away is told by readiness and operations, not by every request that meets it.
  if (problem.status < 500 || IS_TOLD_ELSEWHERE.has(problem.code)) return problem;
  const instance = `urn:uuid:${randomUUID()}`;
  log.error({ err: error, instance, ...where }, 'request failed');
  return { ...problem, instance };
}

/** Whether the caller left before an answer in pieces began: fastify throws what the cut stream says. */
const hungUp = (error: unknown, { raw }: FastifyReply): boolean =>
  raw.destroyed && (error as { code?: string }).code === 'ERR_STREAM_PREMATURE_CLOSE';

const retryAfter = (code: ErrorCode): number =>
  code === 'not_sealed_yet' ? SIGNED_EVERY_SECONDS : RETRY_AFTER_SECONDS;

/** Turns every exception into a problem document, and keeps faults of ours out of the answer and in the log. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: ServiceLog) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (hungUp(error, reply)) return;
    const { method, url } = host.switchToHttp().getRequest<FastifyRequest>();
    const problem = reportProblem(error, this.log, { method, url });
    if (problem.status === 503) void reply.header('retry-after', String(retryAfter(problem.code)));
    if (problem.code === 'too_many_wrong_keys') void reply.header('retry-after', String(WRONG_KEYS_WINDOW_SECONDS));
    if (problem.code === 'too_many_accesses') void reply.header('retry-after', String(ACCESS_WINDOW_SECONDS));
    if (problem.code === 'unauthenticated') void reply.header('www-authenticate', 'Bearer');
    if (problem.code === 'request_timeout') void reply.header('connection', 'close');
    void reply.status(problem.status).header('content-type', 'application/problem+json').send(JSON.stringify(problem));
  }
}
