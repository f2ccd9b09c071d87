import { Controller, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { z } from 'zod';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Accounts, type AccountEntry } from '../accounts/accounts.js';
import type { account, accountList } from './account-answers.js';
import { jsonBody } from './json-body.js';
import { accountResumption } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** For operators: how the accounts at the registry stand, and how a paused one goes on. */
@Controller('v1/accounts')
export class AccountsController {
  constructor(@Inject(Accounts) private readonly accounts: Accounts) {}

  @Get()
  @Allow('operator', 'auditor')
  async list(): Promise<z.infer<typeof accountList>> {
    return { items: (await this.accounts.list()).map(answerOf) };
  }

  @Post(':name/resumptions')
  @HttpCode(200)
  @Allow('operator')
  async resume(@Param('name') name: string, @Req() request: CallerRequest): Promise<z.infer<typeof account>> {
    const { reason } = jsonBody(accountResumption, request.body);
    return answerOf(await this.accounts.resume(name, reason, request.caller.actor));
  }
}

function answerOf({ account: name, events: _, ...entry }: AccountEntry): z.infer<typeof account> {
  return { name, ...snakeCase(entry) };
}
