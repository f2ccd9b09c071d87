import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { z } from 'zod';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Webhooks } from '../webhooks/webhooks.js';
import type { newWebhook, webhook, webhookList } from './answers.js';
import { jsonBody } from './json-body.js';
import { parameters, uuidParameter, webhookBody, webhookReason, webhookResumption } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** Addresses to which outcomes are posted, signed, for those without a bus. */
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(@Inject(Webhooks) private readonly webhooks: Webhooks) {}

  @Post()
  @HttpCode(201)
  @Allow('operator')
  async add(@Req() request: CallerRequest, @Body() body: Buffer | undefined): Promise<z.infer<typeof newWebhook>> {
    return snakeCase(await this.webhooks.add(jsonBody(webhookBody, body), request.caller.actor));
  }

  @Get()
  @Allow('operator', 'auditor')
  async list(): Promise<z.infer<typeof webhookList>> {
    return { items: snakeCase(await this.webhooks.list()) };
  }

  @Delete(':id')
  @HttpCode(204)
  @Allow('operator')
  async remove(@Req() request: CallerRequest, @Param('id') id: string, @Query() query: unknown): Promise<void> {
    await this.webhooks.remove(uuidParameter('id', id), {
      ...parameters(webhookReason, query),
      actor: request.caller.actor,
    });
  }

  @Post(':id/secrets')
  @HttpCode(201)
  @Allow('operator')
  async rotate(
    @Req() request: CallerRequest,
    @Param('id') id: string,
    @Body() body: Buffer | undefined,
  ): Promise<z.infer<typeof newWebhook>> {
    const change = body === undefined || body.length === 0 ? {} : jsonBody(webhookReason, body);
    return snakeCase(await this.webhooks.rotate(uuidParameter('id', id), { ...change, actor: request.caller.actor }));
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Allow('operator')
  async resume(
    @Req() request: CallerRequest,
    @Param('id') id: string,
    @Body() body: Buffer | undefined,
  ): Promise<z.infer<typeof webhook>> {
    const change =
      body === undefined || body.length === 0 ? webhookResumption.parse({}) : jsonBody(webhookResumption, body);
    return snakeCase(await this.webhooks.resume(uuidParameter('id', id), { ...change, actor: request.caller.actor }));
  }
}
