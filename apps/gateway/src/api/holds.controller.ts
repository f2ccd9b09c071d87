import { Controller, HttpCode, HttpStatus, Inject, Param, Post, Req } from '@nestjs/common';
import { z } from 'zod';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Holds, type Decision } from '../holds/holds.js';
import { jsonBody } from './json-body.js';
import type { holdDecision } from './group-answers.js';
import { groupEndBody } from './group-end-body.js';
import { holdBody, uuidParameter } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** For operators: what is held is sent all the same, or ended; what was not sent is held. For a reason that is kept. */
@Controller('v1')
export class HoldsController {
  constructor(@Inject(Holds) private readonly holds: Holds) {}

  @Post('documents/:requestId/release')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  releaseDocument(
    @Param('requestId') id: string,
    @Req() request: CallerRequest,
  ): Promise<z.infer<typeof holdDecision>> {
    return this.decide('document', uuidParameter('requestId', id), { request, decision: 'release' });
  }

  @Post('documents/:requestId/end')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  endDocument(@Param('requestId') id: string, @Req() request: CallerRequest): Promise<z.infer<typeof holdDecision>> {
    return this.decide('document', uuidParameter('requestId', id), { request, decision: 'end' });
  }

  @Post('documents/:requestId/hold')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  async holdDocument(
    @Param('requestId') id: string,
    @Req() request: CallerRequest,
  ): Promise<z.infer<typeof holdDecision>> {
    const { reason } = jsonBody(holdBody, request.body);
    const { actor } = request.caller;
    return snakeCase(await this.holds.hold(uuidParameter('requestId', id), { reason, actor })) as z.infer<
      typeof holdDecision
    >;
  }

  @Post('groups/:groupId/release')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  releaseGroup(@Param('groupId') id: string, @Req() request: CallerRequest): Promise<z.infer<typeof holdDecision>> {
    return this.decide('group', uuidParameter('groupId', id), { request, decision: 'release' });
  }

  @Post('groups/:groupId/end')
  @HttpCode(HttpStatus.ACCEPTED)
  @Allow('operator')
  async endGroup(@Param('groupId') id: string, @Req() request: CallerRequest): Promise<z.infer<typeof holdDecision>> {
    const { reason, in_work: inWork } = jsonBody(groupEndBody, request.body);
    const asked = { reason, actor: request.caller.actor, ...(inWork === true ? { inWork } : {}) };
    return snakeCase(await this.holds.endGroup(uuidParameter('groupId', id), asked)) as z.infer<typeof holdDecision>;
  }

  private async decide(
    noun: 'document' | 'group',
    id: string,
    { request, decision }: { request: CallerRequest; decision: Decision },
  ): Promise<z.infer<typeof holdDecision>> {
    const { reason } = jsonBody(holdBody, request.body);
    return snakeCase(await this.holds.decide(noun, id, { decision, reason, actor: request.caller.actor })) as z.infer<
      typeof holdDecision
    >;
  }
}
