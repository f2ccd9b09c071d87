import { neverReached, systemClock, type Clock } from '#kernel';
import type { Account, Signer } from '../port.js';
import { openCommandSigner } from './command-signer.js';
import { openHttpSigner } from './http-signer.js';
import { Pkcs12Signer } from './pkcs12-signer.js';

/**
 * The signer of an account; undefined for a user who signs in by password and whose documents go without a signature
 * (public-facts 1.1).
 * @throws PedigreeError invalid_configuration naming the account and the file at fault.
 */
export function openSigner(account: Pick<Account, 'name' | 'signer'>, clock: Clock = systemClock): Signer | undefined {
  const { name, signer } = account;
  switch (signer.kind) {
    case 'pkcs12':
      return Pkcs12Signer.open(account, clock);
    case 'command':
      return openCommandSigner(name, signer, clock);
    case 'http':
      return openHttpSigner(name, signer, clock);
    case 'password':
      return undefined;
    default:
      return neverReached(signer, 'signer');
  }
}
