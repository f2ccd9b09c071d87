import { neverReached } from '#kernel';
import type { AccountCertificate, AccountEvent, AccountPaused } from './events.js';
import type { AccountState } from './state.js';

/** What may be asked of an account. */
export type AccountCommand =
  | { type: 'NoteCertificate'; account: string; certificate: AccountCertificate }
  | ({ type: 'Pause' } & AccountPaused['data'])
  | { type: 'Resume'; account: string };

/**
 * The events that follow; none when the command says nothing new. The first cause of a pause stays until somebody
 * resumes the account.
 */
export function decideAccount(state: AccountState, command: AccountCommand): AccountEvent[] {
  switch (command.type) {
    case 'NoteCertificate': {
      const { account, certificate } = command;
      return state.certificate?.certificateSha256 === certificate.certificateSha256
        ? []
        : [{ type: 'AccountCertificateSeen', data: { account, ...certificate } }];
    }
    case 'Pause': {
      const { type: _, ...because } = command;
      return state.phase === 'paused' || wasLetPass(state, because) || isOfDocument(state, because)
        ? []
        : [{ type: 'AccountPaused', data: because }];
    }
    case 'Resume':
      return state.phase === 'paused' ? [{ type: 'AccountResumed', data: { account: command.account } }] : [];
    default:
      return neverReached(command, 'account command');
  }
}

/**
 * Our own finding gives way to a person's word, until the certificate is another one: the registry judges in the end.
 */
const wasLetPass = ({ letPass }: AccountState, { code, thumbprint }: AccountPaused['data']): boolean =>
  letPass !== undefined && letPass.code === code && letPass.thumbprint === thumbprint;

/**
 * A right may be missing for one document alone, such as one of a place that is not the user's. It pauses the account
 * once; after a person has resumed it, the same answer to the same document is that document's own refusal, or no
 * resumption would ever help.
 */
const isOfDocument = ({ resumedFor }: AccountState, { cause, code, requestId }: AccountPaused['data']): boolean =>
  cause === 'rights' && resumedFor !== undefined && resumedFor.requestId === requestId && resumedFor.code === code;
