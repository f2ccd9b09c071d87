import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { EpcisDocument } from '#documents';
import type { z } from 'zod';
import { defined, PedigreeError, requestIdOf } from '#kernel';
import type { DocumentListQuery, outcomeCounts } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import type { document, documentPage } from './answers.js';
import { documentAnswer } from './document-answer.js';
import { wantsEpcis, EPCIS } from './epcis-answer.js';
import { documentListParameters, parameters, uuidParameter } from './parameters.js';
import { CountOutcomes, EpcisOfDocument, INSTALLATION_ID, ListDocuments, LOG } from './queries.js';
import { sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

/** What auditors, operators and the ERP read. Lists stream as NDJSON when the caller accepts application/x-ndjson. */
@Controller('v1')
export class ReadController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(INSTALLATION_ID) private readonly installationId: string,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get('documents')
  @Allow('erp', 'operator', 'auditor')
  async documents(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const wanted = this.listQuery(parameters(documentListParameters, query));
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof documentPage>> =>
      snakeCase(await this.queries.execute(new ListDocuments({ ...wanted, ...defined({ cursor }) })));
    await sendList({ request, reply, log: this.log }, pageAfter);
  }

  /** A command's document is found by its request_id, which follows from the command id: no second index is needed. */
  private listQuery({
    doc_type,
    command_id,
    registered_from,
    registered_to,
    ...rest
  }: z.output<typeof documentListParameters>): DocumentListQuery {
    const requestId = command_id === undefined ? undefined : requestIdOf(this.installationId, command_id);
    return defined({
      ...rest,
      requestId,
      docType: doc_type,
      registeredFrom: registered_from,
      registeredTo: registered_to,
    });
  }

  @Get('documents/:requestId')
  @Allow('erp', 'operator', 'auditor')
  async document(
    @Param('requestId') text: string,
    @Req() request: CallerRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof document> | EpcisDocument> {
    const requestId = uuidParameter('requestId', text);
    const found = wantsEpcis(request)
      ? await this.queries.execute(new EpcisOfDocument(requestId))
      : await documentAnswer(this.queries, requestId);
    if (found === undefined)
      throw new PedigreeError('not_found', `no document with the request_id ${requestId} is registered`, {
        field: 'requestId',
        item: requestId,
      });
    if (wantsEpcis(request)) void reply.header('content-type', EPCIS);
    return found;
  }

  @Get('summary')
  @Allow('erp', 'operator', 'auditor')
  async summary(): Promise<z.infer<typeof outcomeCounts>> {
    return snakeCase(await this.queries.execute(new CountOutcomes()));
  }
}
