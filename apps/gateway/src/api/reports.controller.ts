import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined } from '#kernel';
import type { expiringPacksShape, overridesShape, ReadModels } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { parameters } from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { EXPIRING, OVERRIDE_COLUMNS, TRANSFERS, UNMOVED } from './report-columns.js';
import { expiringParameters, overrideParameters, transferParameters, unmovedParameters } from './report-parameters.js';
import { sendList, sendRows } from './send-list.js';
import { snakeCase } from './snake-case.js';

/** What auditors and quality ask of all packs at once, as of one log position, and who overrode what. */
@Controller('v1/reports')
export class ReportsController {
  constructor(
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get('unmoved-packs')
  @Allow('operator', 'auditor')
  async unmoved(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = parameters(unmovedParameters, query);
    const whole = async () => snakeCase(await this.readModels.packs.unmoved(asked, new Date()));
    await sendList({ request, reply, log: this.log }, whole, UNMOVED);
  }

  @Get('expiring-packs')
  @Allow('operator', 'auditor')
  async expiring(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = parameters(expiringParameters, query);
    const whole: z.infer<typeof expiringPacksShape> = snakeCase(
      await this.readModels.packs.expiring(asked, new Date()),
    );
    await sendRows({ request, reply, log: this.log }, whole, EXPIRING);
  }

  @Get('overdue-transfers')
  @Allow('operator', 'auditor')
  async transfers(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = parameters(transferParameters, query);
    const whole = async () => snakeCase(await this.readModels.packs.overdueTransfers(asked, new Date()));
    await sendList({ request, reply, log: this.log }, whole, TRANSFERS);
  }

  @Get('overrides')
  @Allow('auditor')
  async overrides(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = parameters(overrideParameters, query);
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof overridesShape>> =>
      snakeCase(await this.readModels.overrides(defined({ ...asked, cursor }), new Date()));
    await sendList({ request, reply, log: this.log }, pageAfter, OVERRIDE_COLUMNS);
  }
}
