import { PedigreeError } from '#kernel';

/** The account that a body names. @throws PedigreeError `unknown_account`, with those that are configured. */
export function knownAccount(accounts: readonly string[], account: string, field = '/account'): string {
  if (accounts.includes(account)) return account;
  const known = accounts.join(', ');
  throw new PedigreeError('unknown_account', `${field}: no account is named ${account}; known are ${known}`, {
    field,
    item: account,
  });
}
