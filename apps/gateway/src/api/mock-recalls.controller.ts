import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined } from '#kernel';
import type { mockRecallDetail, mockRecallPage } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { MockRecalls } from '../mock-recalls/mock-recalls.js';
import { jsonBody } from './json-body.js';
import { parameters, uuidParameter } from './parameters.js';
import { LOG } from './queries.js';
import { RECALL, RECALLS } from './report-columns.js';
import { mockRecallBody, mockRecallListParameters } from './report-parameters.js';
import { sendList, sendRows } from './send-list.js';
import { snakeCase } from './snake-case.js';

/** How long until it is known where every pack of a series is. */
@Controller('v1/mock-recalls')
export class MockRecallsController {
  constructor(
    @Inject(MockRecalls) private readonly recalls: MockRecalls,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Allow('operator', 'auditor')
  async begin(@Req() request: CallerRequest): Promise<z.infer<typeof mockRecallDetail>> {
    return snakeCase(await this.recalls.begin(jsonBody(mockRecallBody, request.body), request.caller.actor));
  }

  @Get()
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = parameters(mockRecallListParameters, query);
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof mockRecallPage>> =>
      snakeCase(await this.recalls.list(defined({ ...asked, cursor })));
    await sendList({ request, reply, log: this.log }, pageAfter, RECALLS);
  }

  @Get(':recallId')
  @Allow('operator', 'auditor')
  async show(@Param('recallId') id: string, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const told: z.infer<typeof mockRecallDetail> = snakeCase(await this.recalls.one(uuidParameter('recallId', id)));
    await sendRows({ request, reply, log: this.log }, told, RECALL);
  }

  @Post(':recallId/trace')
  @HttpCode(HttpStatus.OK)
  @Allow('operator', 'auditor')
  async trace(@Param('recallId') id: string, @Req() request: CallerRequest): Promise<z.infer<typeof mockRecallDetail>> {
    return snakeCase(await this.recalls.trace(uuidParameter('recallId', id), request.caller.actor));
  }
}
