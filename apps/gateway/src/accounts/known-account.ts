import { PedigreeError } from '#kernel';

/** The account that a body names. @throws PedigreeError `unknown_account`, with those that are configured. */
export function knownAccount(accounts: readonly string[], account: string): string {
  if (accounts.includes(account)) return account;
  const known = accounts.join(', ');
  throw new PedigreeError('unknown_account', `/account: no account is named ${account}; known are ${known}`, {
    field: '/account',
    item: account,
  });
}
