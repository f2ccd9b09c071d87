import { Controller, HttpStatus, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { resendBody } from '../resends/resend-body.js';
import { Resends } from '../resends/resends.js';
import { acknowledgementOf } from './acknowledgement.js';
import type { resent } from './answers.js';
import { jsonBody } from './json-body.js';
import { uuidParameter } from './parameters.js';

/** For operators: resends a rejected or failed document, corrected or not, for a reason that is kept. */
@Controller('v1/documents/:requestId/resends')
export class ResendsController {
  constructor(@Inject(Resends) private readonly resends: Resends) {}

  @Post()
  @Allow('operator')
  async post(
    @Param('requestId') requestId: string,
    @Req() request: CallerRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const resendOf = uuidParameter('requestId', requestId);
    const taken = await this.resends.resend(resendOf, bodyOf(request), request.caller.actor);
    const location = `/v1/documents/${taken.requestId}`;
    const answer: z.infer<typeof resent> = { ...acknowledgementOf(taken), resend_of: resendOf };
    await reply
      .status(taken.repeated ? HttpStatus.OK : HttpStatus.ACCEPTED)
      .header('location', location)
      .send(answer);
  }
}

function bodyOf({ body }: CallerRequest): z.output<typeof resendBody> {
  const bytes = (body as Buffer | undefined) ?? Buffer.alloc(0);
  if (bytes.length === 0)
    throw new PedigreeError('missing_body', 'the request has no body; send JSON with a reason', { field: '' });
  return jsonBody(resendBody, bytes);
}
