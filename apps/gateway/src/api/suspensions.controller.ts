import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined, isSha256, PedigreeError } from '#kernel';
import {
  RECENT_DAYS,
  type ReadModels,
  type suspendedListPage,
  type suspensionAfterAction,
  type suspensionAnswer,
  type suspensionDetail,
  type suspensionPage,
  type suspensionReply,
} from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { letterBody, listConfirmationBody, suspensionActionBody } from '../suspensions/suspension-body.js';
import { replyLetter } from '../suspensions/reply-letter.js';
import { Suspensions } from '../suspensions/suspensions.js';
import { FILE_TYPES, HTML } from './file-types.js';
import { columnsOf } from './columns.js';
import { jsonBody } from './json-body.js';
import { pageOf } from './list-cursor.js';
import { parameters, uuidParameter } from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { REPLY } from './report-columns.js';
import { sendList, sendRows } from './send-list.js';
import { snakeCase } from './snake-case.js';
import { wantedType } from './wanted-type.js';
import {
  suspendedListParameters,
  suspensionAnswerParameters,
  suspensionSeries,
  suspensionListParameters,
  suspensionParameters,
} from './suspension-parameters.js';

type SuspensionPage = z.infer<typeof suspensionPage>;
type Detail = z.infer<typeof suspensionDetail>;
type AfterAction = z.infer<typeof suspensionAfterAction>;

const COLUMNS = columnsOf<SuspensionPage['items'][number]>(
  ...(['suspension_id', 'source', 'state', 'action', 'in_force', 'product', 'series', 'versions', 'number'] as const),
  ...(['date', 'from', 'changed_at'] as const),
);

/** Series that must not be sold or sent on: by the registry's list, and by letters that persons enter. */
@Controller('v1')
export class SuspensionsController {
  constructor(
    @Inject(Suspensions) private readonly suspensions: Suspensions,
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get('suspensions')
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { in_force: inForce, ...rest } = parameters(suspensionListParameters, query);
    const pageAfter = async (cursor?: string): Promise<SuspensionPage> =>
      snakeCase(await this.readModels.suspensions.list(defined({ ...rest, inForce, cursor })));
    await sendList({ request, reply, log: this.log }, pageAfter, COLUMNS);
  }

  @Post('suspensions')
  @HttpCode(HttpStatus.OK)
  @Allow('operator')
  async enter(@Req() request: CallerRequest): Promise<AfterAction> {
    const id = await this.suspensions.enter(jsonBody(letterBody, request.body), request.caller.actor);
    return this.afterAction(id);
  }

  @Get('suspensions/:suspensionId')
  @Allow('operator', 'auditor')
  async show(@Param('suspensionId') text: string, @Query() query: unknown): Promise<Detail> {
    const { recent_days: days } = parameters(suspensionParameters, query);
    return this.found(uuidParameter('suspensionId', text), days);
  }

  @Get('suspensions/:suspensionId/reply')
  @Allow('operator', 'auditor')
  async reply(
    @Param('suspensionId') text: string,
    @Req() request: CallerRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const id = uuidParameter('suspensionId', text);
    const found = await this.readModels.suspensions.reply(id);
    if (found === undefined)
      throw new PedigreeError('not_found', `nobody has replied to the suspension ${id}, or there is none`, {
        ...{ field: 'suspensionId', item: id },
      });
    const told: z.infer<typeof suspensionReply> = snakeCase(found);
    if (wantedType(request.headers.accept, [HTML, ...Object.values(FILE_TYPES)]) !== HTML)
      return sendRows({ request, reply, log: this.log }, told, REPLY);
    await reply.header('content-type', `${HTML}; charset=utf-8`).send(replyLetter(told));
  }

  @Post('suspensions/:suspensionId/actions')
  @HttpCode(HttpStatus.OK)
  @Allow('operator')
  async act(@Param('suspensionId') text: string, @Req() request: CallerRequest): Promise<AfterAction> {
    const id = uuidParameter('suspensionId', text);
    await this.suspensions.act(id, jsonBody(suspensionActionBody, request.body), request.caller.actor);
    return this.afterAction(id);
  }

  @Get('suspended-lists')
  @Allow('operator', 'auditor')
  async lists(@Query() query: unknown, @Req() request: CallerRequest): Promise<z.infer<typeof suspendedListPage>> {
    const wanted = parameters(suspendedListParameters, query);
    return pageOf(request, async (cursor) =>
      snakeCase(await this.readModels.suspensions.lists(defined({ ...wanted, cursor }))),
    );
  }

  @Post('suspended-lists/:sha256/confirmations')
  @HttpCode(HttpStatus.NO_CONTENT)
  @Allow('operator')
  async confirm(@Param('sha256') sha256: string, @Req() request: CallerRequest): Promise<void> {
    if (!isSha256(sha256))
      throw new PedigreeError('invalid_parameter', `sha256: ${sha256} is not a SHA-256`, {
        field: 'sha256',
        item: sha256,
      });
    const { reason } = jsonBody(listConfirmationBody, request.body);
    await this.suspensions.confirmList(sha256, reason, request.caller.actor);
  }

  @Get('series/:gtin/:series/suspension')
  @Allow('operator', 'auditor')
  async answer(@Param() path: unknown, @Query() query: unknown): Promise<z.infer<typeof suspensionAnswer>> {
    const { gtin, series } = parameters(suspensionSeries, path);
    const { at, document: requestId } = parameters(suspensionAnswerParameters, query);
    return snakeCase(await this.readModels.suspensions.answer({ gtin, series, ...defined({ at, requestId }) }));
  }

  private async found(id: string, recentDays: number): Promise<Detail> {
    return snakeCase(known(await this.readModels.suspensions.one(id, recentDays), id));
  }

  /** It is recorded, and answered as such, also where our packs cannot be counted now. */
  private async afterAction(id: string): Promise<AfterAction> {
    try {
      return await this.found(id, RECENT_DAYS);
    } catch (err) {
      this.log.warn({ err, suspensionId: id }, 'could not count the packs of a suspension after an action on it');
      return snakeCase(known(await this.readModels.suspensions.uncounted(id), id));
    }
  }
}

function known<T>(found: T | undefined, id: string): T {
  if (found !== undefined) return found;
  throw new PedigreeError('not_found', `there is no suspension ${id}`, { field: 'suspensionId', item: id });
}
