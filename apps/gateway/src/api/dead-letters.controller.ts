import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import type { DeadLetterSummary } from '#bus';
import { defined } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { DeadLetters, type Shown } from '../operations/dead-letters.js';
import type { deadLetter, deadLetterList, deadLetterSummary } from './answers.js';
import { jsonBody } from './json-body.js';
import { deadLetterListParameters, deadLetterPath, letterDecision, parameters } from './parameters.js';

/**
 * For operators: messages of the bus that could not be handled, putting them back once the cause is mended, and
 * discarding what nobody will mend.
 */
@Controller('v1/operations/dead-letters')
export class DeadLettersController {
  constructor(@Inject(DeadLetters) private readonly letters: DeadLetters) {}

  @Get()
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown): Promise<z.infer<typeof deadLetterList>> {
    const { limit, discarded } = parameters(deadLetterListParameters, query);
    const letters = discarded === true ? await this.letters.discarded(limit) : await this.letters.list(limit);
    return { items: letters.map(summaryOf) };
  }

  @Get(':id')
  @Allow('operator', 'auditor')
  async show(@Param() path: unknown): Promise<z.infer<typeof deadLetter>> {
    const { id } = parameters(deadLetterPath, path);
    const letter = await this.letters.find(id);
    // A body that is no text would be mended by JSON without a word.
    const body = isUtf8(letter.body)
      ? { body: letter.body.toString('utf8') }
      : { body_base64: letter.body.toString('base64') };
    return { ...summaryOf(letter), headers: letter.headers, ...body };
  }

  @Post(':id/replays')
  @HttpCode(204)
  @Allow('operator')
  async replay(@Req() request: CallerRequest, @Param() path: unknown): Promise<void> {
    const { id } = parameters(deadLetterPath, path);
    const { reason } = jsonBody(letterDecision, request.body);
    await this.letters.replay(id, reason, request.caller.actor);
  }

  @Post(':id/discards')
  @HttpCode(204)
  @Allow('operator')
  async discard(@Req() request: CallerRequest, @Param() path: unknown): Promise<void> {
    const { id } = parameters(deadLetterPath, path);
    const { reason } = jsonBody(letterDecision, request.body);
    await this.letters.discard(id, reason, request.caller.actor);
  }
}

const summaryOf = ({
  id,
  messageId,
  publisher,
  contentType,
  bodyBytes,
  code,
  reason,
  deadAt,
  deliveries,
  discarded,
}: Shown<DeadLetterSummary>): z.infer<typeof deadLetterSummary> => ({
  id,
  ...defined({ message_id: messageId, publisher }),
  content_type: contentType,
  body_bytes: bodyBytes,
  code,
  reason,
  dead_at: deadAt.toISOString(),
  deliveries,
  ...(discarded === undefined ? {} : { discarded: { ...discarded, at: discarded.at.toISOString() } }),
});
