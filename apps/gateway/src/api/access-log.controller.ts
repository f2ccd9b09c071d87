import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined, PedigreeError } from '#kernel';
import type { ReadModels } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import type { accessPage } from './access-answers.js';
import { accessEntryParameters, accessLogParameters } from './access-parameters.js';
import type { Columns } from './columns.js';
import { parameters } from './parameters.js';
import { LOG, READ_MODELS } from './queries.js';
import { sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

type Entry = z.infer<typeof accessPage>['items'][number];

const COLUMNS: Columns<Entry> = {
  position: (one) => one.position,
  at: (one) => one.at,
  kind: (one) => one.kind,
  type: (one) => one.type,
  actor_kind: (one) => one.actor.kind,
  actor: (one) => one.actor.name,
  authenticated_by: (one) => one.actor.authenticated_by,
  reason: (one) => one.reason,
  objects: (one) => one.objects.join(' '),
  details: (one) => JSON.stringify(one.details),
  stream: (one) => one.stream,
  version: (one) => one.version,
};

/** For auditors: who did what, was given what, and was refused. */
@Controller('v1/access-log')
export class AccessLogController {
  constructor(
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get()
  @Allow('auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { actor_kind: actorKind, ...rest } = parameters(accessLogParameters, query);
    const pageAfter = async (cursor?: string): Promise<z.infer<typeof accessPage>> =>
      snakeCase(await this.readModels.accessLog(defined({ ...rest, actorKind, cursor })));
    await sendList({ request, reply, log: this.log }, pageAfter, COLUMNS);
  }

  @Get(':position')
  @Allow('auditor')
  async show(@Param() path: unknown): Promise<Entry> {
    const { position } = parameters(accessEntryParameters, path);
    const entry = await this.readModels.access(BigInt(position));
    if (entry === undefined)
      throw new PedigreeError('not_found', `the event at position ${position} is none of the access log`, {
        ...{ field: 'position', item: position },
      });
    return snakeCase(entry);
  }
}
