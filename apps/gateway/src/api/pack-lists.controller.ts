import { Controller, Get, HttpCode, HttpStatus, Inject, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import type { packChecks, packPage, PackListQuery, ReadModels, seriesFile, stockPage, StockQuery } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { jsonBody } from './json-body.js';
import { CHECKS, PACKS, SERIES, STOCK } from './pack-columns.js';
import { gtinText, packCheckBody, packListParameters, parameters, seriesText, stockParameters } from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { sendList, sendRows } from './send-list.js';
import { snakeCase } from './snake-case.js';

/** Questions about many packs as they stand now: lists, stock, a series, and whether a pack may be moved. */
@Controller('v1')
export class PackListsController {
  constructor(
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get('packs')
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { expires_by: expiresBy, series_unknown, ...rest } = parameters(packListParameters, query);
    const wanted = { ...rest, expiresBy, seriesUnknown: series_unknown === 'true' } as PackListQuery;
    const pageAfter = async (cursor = wanted.cursor): Promise<z.infer<typeof packPage>> =>
      snakeCase(await this.readModels.packs.list({ ...wanted, ...(cursor === undefined ? {} : { cursor }) }));
    await sendList({ request, reply, log: this.log }, pageAfter, PACKS);
  }

  @Get('stock')
  @Allow('erp', 'operator', 'auditor')
  async stock(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { expires_by: expiresBy, series_unknown, ...rest } = parameters(stockParameters, query);
    const wanted = { ...rest, expiresBy, seriesUnknown: series_unknown === 'true' } as StockQuery;
    const pageAfter = async (): Promise<z.infer<typeof stockPage>> =>
      snakeCase(await this.readModels.packs.stock(wanted));
    await sendList({ request, reply, log: this.log }, pageAfter, STOCK);
  }

  @Post('packs/checks')
  @HttpCode(HttpStatus.OK)
  @Allow('erp', 'operator', 'auditor')
  async check(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const asked = jsonBody(packCheckBody, request.body);
    const today = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length);
    const answer = snakeCase(await this.readModels.packs.check({ ...asked, today })) as z.infer<typeof packChecks>;
    await sendRows({ request, reply, log: this.log }, answer, CHECKS);
  }

  @Get('series/:gtin/:series')
  @Allow('operator', 'auditor')
  async series(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gtin, series } = request.params as { gtin: string; series: string };
    if (!gtinText.safeParse(gtin).success || !seriesText.safeParse(series).success)
      throw new PedigreeError('invalid_parameter', 'gtin: must be 14 digits, and series 1 to 20 characters', {
        field: gtinText.safeParse(gtin).success ? 'series' : 'gtin',
      });
    const found = await this.readModels.packs.series(gtin, series);
    if (found === undefined)
      throw new PedigreeError('not_found', `no document has moved a pack of series ${series} of ${gtin}`, {
        field: 'series',
        item: series,
      });
    const file = snakeCase(found) as z.infer<typeof seriesFile>;
    await sendRows({ request, reply, log: this.log }, file, SERIES);
  }
}
