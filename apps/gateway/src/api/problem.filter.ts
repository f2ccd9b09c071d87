import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { PedigreeError, type ErrorCode, type ErrorPlace } from '#kernel';

/** An RFC 9457 problem document, with our code and the place of the error as extension members. */
export interface Problem extends ErrorPlace {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
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

/** What the HTTP layer refuses before our code is asked, by status; anything else below 500 is a parameter of some kind. */
const REFUSED_BY_HTTP: Record<number, ErrorCode> = { 404: 'not_found', 413: 'body_too_large', 415: 'unsupported_media_type' };

/** Whatever was thrown, as one of our errors. What is a fault of ours keeps its details for the log. */
export function asPedigreeError(error: unknown): PedigreeError {
  if (error instanceof PedigreeError) return error;
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  const status = error instanceof HttpException ? error.getStatus() : statusCode;
  if (status === undefined || status < 400 || status >= 500) return new PedigreeError('internal', 'an unexpected fault; it is in the log under this time');
  return new PedigreeError(REFUSED_BY_HTTP[status] ?? 'invalid_parameter', message ?? 'invalid request');
}

/** Turns every exception into a problem document, and keeps faults of ours out of the answer and in the log. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const problem = problemOf(asPedigreeError(error));
    if (problem.status >= 500 && problem.code !== 'backlog_full') this.log.error({ err: error, method: request.method, url: request.url }, 'request failed');
    if (problem.code === 'backlog_full') void reply.header('retry-after', '5');
    if (problem.code === 'unauthenticated') void reply.header('www-authenticate', 'Bearer');
    void reply.status(problem.status).header('content-type', 'application/problem+json').send(JSON.stringify(problem));
  }
}
