import {
  accountStream,
  decideAccount,
  evolveAccount,
  NEW_ACCOUNT,
  type AccountCommand,
  type AccountEvent,
  type AccountState,
} from '#domain';
import { AggregateRepository, type Aggregate, type RepositoryOptions } from '../aggregate/aggregate-repository.js';

const ACCOUNT: Aggregate<AccountState, AccountCommand, AccountEvent> = {
  name: 'account',
  streamOf: accountStream,
  initial: NEW_ACCOUNT,
  decide: decideAccount,
  begins: () => false,
  evolve: evolveAccount,
  isOver: () => false,
};

/** Accounts, one stream each. */
export class AccountRepository extends AggregateRepository<AccountState, AccountCommand, AccountEvent> {
  constructor(options: RepositoryOptions) {
    super(ACCOUNT, options);
  }
}
