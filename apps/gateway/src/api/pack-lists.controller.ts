import { Controller, Get, HttpCode, HttpStatus, Inject, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined, PedigreeError } from '#kernel';
import type {
  packChecks,
  packPage,
  PackListQuery,
  ReadModels,
  seriesFile,
  seriesSourcePage,
  stockPage,
  StockQuery,
} from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { jsonBody } from './json-body.js';
import { CHECKS, PACKS, STOCK } from './pack-columns.js';
import {
  gtinText,
  packCheckBody,
  packListParameters,
  parameters,
  seriesSourceParameters,
  seriesText,
  stockParameters,
} from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { formatOf, sendList, sendRows } from './send-list.js';
import { SERIES, SERIES_SOURCES, seriesRows, withOpenCursor } from './series-columns.js';
import { snakeCase } from './snake-case.js';

/** Sources of a series that a file is written from at once. Each step counts all packs of the series. */
const SOURCES_OF_A_STEP = 10_000;

/** Packs that a file is written from at once: each step costs the same few statements, however many it gives. */
const PACKS_OF_A_STEP = 1_000;

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
    const given = parameters(packListParameters, query);
    const { expires_by: expiresBy, expires_within: expiresWithin, series_unknown, status_unknown, ...others } = given;
    const { place_unknown, place_left, fate: fates, ...rest } = others;
    const now = new Date();
    const wanted = {
      ...{
        ...rest,
        expiresBy,
        expiresWithin,
        seriesUnknown: series_unknown === 'true',
        statusUnknown: status_unknown === 'true',
      },
      ...{ fates, placeUnknown: place_unknown === 'true', placeLeft: place_left === 'true' },
      ...(formatOf(request) === undefined ? {} : { limit: PACKS_OF_A_STEP }),
    } as PackListQuery;
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof packPage>> =>
      snakeCase(await this.readModels.packs.list({ ...wanted, ...(cursor === undefined ? {} : { cursor }) }, now));
    await sendList({ request, reply, log: this.log }, pageAfter, PACKS);
  }

  @Get('stock')
  @Allow('erp', 'operator', 'auditor')
  async stock(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { expires_by, expires_within, series_unknown, ...rest } = parameters(stockParameters, query);
    const expiry = { expiresBy: expires_by, expiresWithin: expires_within };
    const wanted = { ...rest, ...expiry, seriesUnknown: series_unknown === 'true' } as StockQuery;
    const pageAfter = async (): Promise<z.infer<typeof stockPage>> =>
      snakeCase(await this.readModels.packs.stock(wanted));
    await sendList({ request, reply, log: this.log }, pageAfter, STOCK);
  }

  @Post('packs/checks')
  @HttpCode(HttpStatus.OK)
  @Allow('erp', 'operator', 'auditor')
  async check(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { day, ...asked } = jsonBody(packCheckBody, request.body);
    const wanted = { ...asked, ...defined({ day }) };
    const answer = snakeCase(await this.readModels.packs.check(wanted)) as z.infer<typeof packChecks>;
    await sendRows({ request, reply, log: this.log }, answer, CHECKS);
  }

  @Get('series/:gtin/:series')
  @Allow('operator', 'auditor')
  async series(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gtin, series } = seriesNamed(request);
    const call = { request, reply, log: this.log };
    if (formatOf(request) === undefined)
      return void (await reply.send(withOpenCursor(await this.seriesFile({ gtin, series }))));
    const file = await this.seriesFile({ gtin, series }, SOURCES_OF_A_STEP);
    const sourcesAfter = async (cursor: string): Promise<z.infer<typeof seriesSourcePage>> =>
      snakeCase(await this.readModels.packs.seriesSources(gtin, series, { limit: SOURCES_OF_A_STEP, cursor }));
    await sendList(call, seriesRows(file, sourcesAfter), SERIES);
  }

  @Get('series/:gtin/:series/sources')
  @Allow('operator', 'auditor')
  async sources(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gtin, series } = seriesNamed(request);
    const { limit } = parameters(seriesSourceParameters, query);
    const wanted = { limit: formatOf(request) === undefined ? limit : SOURCES_OF_A_STEP };
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof seriesSourcePage>> =>
      snakeCase(await this.readModels.packs.seriesSources(gtin, series, { ...wanted, ...defined({ cursor }) }));
    await sendList({ request, reply, log: this.log }, pageAfter, SERIES_SOURCES);
  }

  private async seriesFile(
    { gtin, series }: { gtin: string; series: string },
    limit?: number,
  ): Promise<z.infer<typeof seriesFile>> {
    const found = await this.readModels.packs.series(gtin, series, defined({ limit }));
    if (found === undefined)
      throw new PedigreeError('not_found', `no document has moved a pack of series ${series} of ${gtin}`, {
        field: 'series',
        item: series,
      });
    return snakeCase(found);
  }
}

function seriesNamed({ params }: CallerRequest): { gtin: string; series: string } {
  const { gtin, series } = params as { gtin: string; series: string };
  if (gtinText.safeParse(gtin).success && seriesText.safeParse(series).success) return { gtin, series };
  throw new PedigreeError('invalid_parameter', 'gtin: must be 14 digits, and series 1 to 20 characters', {
    field: gtinText.safeParse(gtin).success ? 'series' : 'gtin',
  });
}
