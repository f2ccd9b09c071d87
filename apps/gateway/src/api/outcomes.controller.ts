import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Outcomes } from '../outcomes/outcomes.js';
import type { documentItems } from './answers.js';
import { whenEnded } from './body-limits.js';
import { pageOf } from './list-cursor.js';
import { documentItemsParameters, outcomeFeedParameters, parameters, uuidParameter } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** What the ERP is told, for those without a bus: the same events as there, asked for instead of brought. */
@Controller('v1')
export class OutcomesController {
  constructor(@Inject(Outcomes) private readonly outcomes: Outcomes) {}

  @Get('outcomes')
  @Allow('erp', 'operator', 'auditor')
  async feed(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { after, limit, wait } = parameters(outcomeFeedParameters, query);
    const gone = new AbortController();
    whenEnded(request, reply, () => gone.abort());
    const body = await this.outcomes.feed({ after, limit, waitMs: wait * 1_000, signal: gone.signal });
    // Its key may have been revoked while it waited.
    await request.stillAllowed();
    await reply.header('content-type', 'application/json').send(body);
  }

  @Get('documents/:requestId/items')
  @Allow('erp', 'operator', 'auditor')
  async items(
    @Param('requestId') requestId: string,
    @Query() query: unknown,
    @Req() request: CallerRequest,
  ): Promise<z.infer<typeof documentItems>> {
    const id = uuidParameter('requestId', requestId);
    const wanted = parameters(documentItemsParameters, query);
    return pageOf(request, async (cursor) => snakeCase(await this.outcomes.items(id, { ...wanted, cursor })));
  }
}
