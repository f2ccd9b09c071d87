import { Inject } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AccountCommand, AccountEvent, AccountState } from '#domain';
import type { Cause } from '../noun/noun-repository.js';
import { AccountRepository } from './account-repository.js';

/**
 * A command to one account, carried by the CommandBus. Answers with the events that followed and the state they led to.
 */
export class DecideAccount {
  constructor(
    readonly account: string,
    readonly command: AccountCommand,
    readonly cause: Cause,
  ) {}
}

export interface AccountDecided {
  events: AccountEvent[];
  state: AccountState;
}

@CommandHandler(DecideAccount)
export class DecideAccountHandler implements ICommandHandler<DecideAccount, AccountDecided> {
  constructor(@Inject(AccountRepository) private readonly accounts: AccountRepository) {}

  execute({ account, command, cause }: DecideAccount): Promise<AccountDecided> {
    return this.accounts.execute(account, command, cause);
  }
}
