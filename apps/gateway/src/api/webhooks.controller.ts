import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { z } from 'zod';
import { isUuid, PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { parseStrictJson } from '../intake/strict-json.js';
import { Webhooks } from '../webhooks/webhooks.js';
import type { newWebhook, webhook, webhookList } from './answers.js';
import { parameters, webhookBody, webhookRemoval, webhookResumption } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** Addresses to which outcomes are posted, signed, for those without a bus. */
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(@Inject(Webhooks) private readonly webhooks: Webhooks) {}

  @Post()
  @HttpCode(201)
  @Allow('operator')
  async add(@Req() request: CallerRequest, @Body() body: Buffer | undefined): Promise<z.infer<typeof newWebhook>> {
    return snakeCase(await this.webhooks.add(parsed(webhookBody, body), request.caller.actor));
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
    await this.webhooks.remove(uuidOf(id), { ...parameters(webhookRemoval, query), actor: request.caller.actor });
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Allow('operator')
  async resume(@Req() request: CallerRequest, @Param('id') id: string, @Body() body: Buffer | undefined): Promise<z.infer<typeof webhook>> {
    const change = body === undefined || body.length === 0 ? webhookResumption.parse({}) : parsed(webhookResumption, body);
    return snakeCase(await this.webhooks.resume(uuidOf(id), { ...change, actor: request.caller.actor }));
  }
}

function uuidOf(id: string): string {
  if (!isUuid(id)) throw new PedigreeError('invalid_parameter', `id: ${id} is not a UUID`, { field: 'id', item: id });
  return id.toLowerCase();
}

function parsed<T extends z.ZodType>(schema: T, body: Buffer | undefined): z.output<T> {
  const result = schema.safeParse(parseStrictJson(body ?? Buffer.alloc(0)));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = `/${[...(issue?.path ?? []), ...unknown].map(String).join('/')}`;
  throw new PedigreeError('invalid_command', `${field}: ${unknown.length > 0 ? 'is not a field of this body' : (issue?.message ?? 'invalid')}`, { field });
}
