import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { defined, invalidParameter, PedigreeError } from '#kernel';
import type { inboundDetail } from '#read-models';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { InboundRetries } from '../inbound/inbound-retries.js';
import type { inboundAllRetried, inboundPage, inboundRetried } from './answers.js';
import { jsonBody } from './json-body.js';
import { inboundListParameters, inboundRetries, inboundRetry, parameters } from './parameters.js';
import { InboundByDocumentId, ListInbound, LOG } from './queries.js';
import { sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

const MOST_ID_LENGTH = 200;

/**
 * Documents that we did not send: told by other participants, or sent in our name in the cabinet, by a till, a
 * registrar or another system.
 */
@Controller('v1')
export class InboundController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(InboundRetries) private readonly retries: InboundRetries,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  @Get('inbound')
  @Allow('erp', 'operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const {
      doc_type: docType,
      request_id: requestId,
      given_up: givenUp,
      ...rest
    } = parameters(inboundListParameters, query);
    const given = { ...rest, docType, givenUp, requestId: requestId?.toLowerCase() };
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof inboundPage>> =>
      snakeCase(await this.queries.execute(new ListInbound(defined({ ...given, cursor }))));
    await sendList({ request, reply, log: this.log }, pageAfter);
  }

  @Get('inbound/:documentId')
  @Allow('erp', 'operator', 'auditor')
  async document(@Param('documentId') documentId: string): Promise<z.infer<typeof inboundDetail>> {
    checkDocumentId(documentId);
    const found = await this.queries.execute(new InboundByDocumentId(documentId));
    if (found === undefined)
      throw new PedigreeError('not_found', `no list has shown a document ${documentId} that is not ours`, {
        field: 'documentId',
        item: documentId,
      });
    return snakeCase(found);
  }

  /** For operators: what was given up of all documents of an account is asked for again. */
  @Post('inbound/retries')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  async retryAll(@Req() { body, caller }: CallerRequest): Promise<z.infer<typeof inboundAllRetried>> {
    const { of_account: of, ...asked } = jsonBody(inboundRetries, body);
    return snakeCase(await this.retries.retryAll(of, { ...asked, actor: caller.actor }));
  }

  @Post('inbound/:documentId/retries')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  async retry(
    @Param('documentId') documentId: string,
    @Req() { body, caller }: CallerRequest,
  ): Promise<z.infer<typeof inboundRetried>> {
    checkDocumentId(documentId);
    const asked = jsonBody(inboundRetry, body);
    return snakeCase(await this.retries.retry(documentId, { ...asked, actor: caller.actor }));
  }
}

function checkDocumentId(documentId: string): void {
  if (documentId.length > MOST_ID_LENGTH || /\p{Cc}|\p{Surrogate}/u.test(documentId)) {
    throw invalidParameter('documentId', `at most ${MOST_ID_LENGTH} characters, none of them a control character`);
  }
}
