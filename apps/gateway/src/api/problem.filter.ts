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

/** Whatever was thrown, as one of our errors. What is a fault of ours keeps its details for the log. */
export function asPedigreeError(error: unknown): PedigreeError {
  if (error instanceof PedigreeError) return error;
  const { code, message } = error as { code?: string; message?: string };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new PedigreeError('body_too_large', 'the body is larger than this service takes', { field: '' });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new PedigreeError('unsupported_media_type', 'send application/json or application/x-ndjson', { field: 'Content-Type' });
  }
  if (error instanceof HttpException && error.getStatus() === 404) return new PedigreeError('not_found', message ?? 'not found');
  if (error instanceof HttpException && error.getStatus() < 500) return new PedigreeError('invalid_parameter', message ?? 'invalid request');
  if (code?.startsWith('FST_ERR_') && (error as { statusCode?: number }).statusCode === 400) return new PedigreeError('invalid_parameter', message ?? 'invalid request');
  return new PedigreeError('internal', 'an unexpected fault; it is in the log under this time');
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
