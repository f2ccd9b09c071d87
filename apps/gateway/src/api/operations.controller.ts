import { Controller, Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { parseStrictJson } from '../intake/strict-json.js';
import { Operations } from '../operations/operations.js';
import type { failedTasks, operationsStatus } from './answers.js';
import { retryBody } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** For operators: how the machinery stands, and what to do with tasks that were given up. */
@Controller('v1/operations')
export class OperationsController {
  constructor(@Inject(Operations) private readonly operations: Operations) {}

  @Get()
  @Allow('operator', 'auditor')
  async status(): Promise<z.infer<typeof operationsStatus>> {
    return snakeCase(await this.operations.status());
  }

  @Get('failed-tasks')
  @Allow('operator', 'auditor')
  async failed(): Promise<z.infer<typeof failedTasks>> {
    const tasks = await this.operations.failedTasks();
    return { items: tasks.map(({ key, kind, lane, attempts, failedAt, error }) => ({ key, kind, lane, attempts, failed_at: failedAt.toISOString(), error })) };
  }

  @Post('retries')
  @HttpCode(204)
  @Allow('operator')
  async retry(@Req() request: CallerRequest): Promise<void> {
    const parsed = retryBody.safeParse(parseStrictJson((request.body as Buffer | undefined) ?? Buffer.alloc(0)));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const field = `/${(issue?.path ?? []).map(String).join('/')}`;
      throw new PedigreeError('invalid_command', `${field}: ${issue?.message ?? 'invalid'}`, { field });
    }
    await this.operations.retry(parsed.data.key, parsed.data.reason, request.caller.actor);
  }
}
