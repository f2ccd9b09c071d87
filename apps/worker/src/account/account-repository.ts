import {
  accountStream,
  decideAccount,
  evolveAccount,
  NEW_ACCOUNT,
  type AccountCommand,
  type AccountEvent,
  type AccountState,
} from '#domain';
import { NounRepository, type Noun, type RepositoryOptions } from '../noun/noun-repository.js';

const ACCOUNT: Noun<AccountState, AccountCommand, AccountEvent> = {
  name: 'account',
  streamOf: accountStream,
  initial: NEW_ACCOUNT,
  decide: decideAccount,
  begins: () => false,
  evolve: evolveAccount,
  isOver: () => false,
};

/** Accounts, one stream each. */
export class AccountRepository extends NounRepository<AccountState, AccountCommand, AccountEvent> {
  constructor(options: RepositoryOptions) {
    super(ACCOUNT, options);
  }
}
