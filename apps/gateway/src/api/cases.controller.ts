import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined, PedigreeError } from '#kernel';
import type { caseDetail, ReadModels } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { caseActionBody, caseActionsBody, caseReleaseBody } from '../cases/case-body.js';
import { Cases } from '../cases/cases.js';
import type { caseActionResults, casePage } from './case-answers.js';
import { columnsOf } from './columns.js';
import { jsonBody } from './json-body.js';
import { caseListParameters, parameters, uuidParameter } from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

type CaseRow = z.infer<typeof casePage>['items'][number];

const COLUMNS = columnsOf<CaseRow>(
  ...(['case_id', 'code', 'severity', 'state', 'sentence', 'remedy', 'cause', 'document', 'container'] as const),
  ...(['gtin', 'series', 'place', 'part_of', 'assignee', 'item_count', 'unjudged'] as const),
  ...(['first_seen_at', 'last_seen_at', 'runs_seen', 'due_at', 'overdue', 'resolved_at', 'resolved_by'] as const),
  ...(['resolution', 'remedy_request_id'] as const),
);

/** Differences that runs have found, and what persons do about them. */
@Controller('v1/cases')
export class CasesController {
  constructor(
    @Inject(Cases) private readonly cases: Cases,
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get()
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { part_of: partOf, ...rest } = parameters(caseListParameters, query);
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof casePage>> =>
      snakeCase(await this.readModels.cases(defined({ ...rest, partOf, cursor })));
    await sendList({ request, reply, log: this.log }, pageAfter, COLUMNS);
  }

  @Get(':caseId')
  @Allow('operator', 'auditor')
  async show(@Param('caseId') text: string): Promise<z.infer<typeof caseDetail>> {
    const caseId = uuidParameter('caseId', text);
    const found = await this.readModels.case(caseId);
    if (found === undefined)
      throw new PedigreeError('not_found', `there is no case ${caseId}`, { field: 'caseId', item: caseId });
    return snakeCase(found);
  }

  @Post('actions')
  @HttpCode(HttpStatus.OK)
  @Allow('operator')
  async actOnMany(@Req() request: CallerRequest): Promise<z.infer<typeof caseActionResults>> {
    const asked = jsonBody(caseActionsBody, request.body);
    return { items: snakeCase(await this.cases.actOnMany(asked, request.caller.actor)) };
  }

  @Post(':caseId/releases')
  @HttpCode(HttpStatus.OK)
  @Allow('operator')
  async release(@Param('caseId') text: string, @Req() request: CallerRequest): Promise<z.infer<typeof caseDetail>> {
    const caseId = uuidParameter('caseId', text);
    await this.cases.release(caseId, jsonBody(caseReleaseBody, request.body), request.caller.actor);
    return this.show(caseId);
  }

  @Post(':caseId/actions')
  @HttpCode(HttpStatus.OK)
  @Allow('operator')
  async act(@Param('caseId') text: string, @Req() request: CallerRequest): Promise<z.infer<typeof caseDetail>> {
    const caseId = uuidParameter('caseId', text);
    await this.cases.act(caseId, jsonBody(caseActionBody, request.body), request.caller.actor);
    return this.show(caseId);
  }
}
