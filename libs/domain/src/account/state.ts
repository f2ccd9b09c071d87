import { defined, neverReached } from '#kernel';
import type { AccountCertificate, AccountEvent, AccountPaused } from './events.js';

interface Known {
  certificate?: AccountCertificate;
  /** What we found at a certificate ourselves, and a person let pass: it does not pause the account again. */
  letPass?: { code: string; thumbprint: string };
  /**
   * The document at which it was paused for want of rights, before a person resumed it: the same answer to it once more
   * is about that document.
   */
  resumedFor?: { requestId: string; code: string };
}

export type AccountState =
  ({ phase: 'active' } & Known) | ({ phase: 'paused'; because: AccountPaused['data'] } & Known);

/** An account of which nothing was ever said. */
export const NEW_ACCOUNT: AccountState = { phase: 'active' };

export function evolveAccount(state: AccountState, event: AccountEvent): AccountState {
  switch (event.type) {
    case 'AccountCertificateSeen': {
      const { account: _, ...certificate } = event.data;
      return { ...state, certificate };
    }
    case 'AccountPaused':
      return { ...known(state), phase: 'paused', because: event.data };
    case 'AccountResumed':
      return { ...known(state), phase: 'active', ...letPass(state), ...resumedFor(state) };
    default:
      return neverReached(event, 'account event');
  }
}

const known = ({ certificate, letPass: passed, resumedFor: resumed }: AccountState): Known => ({
  ...defined({ certificate, letPass: passed, resumedFor: resumed }),
});

function letPass(state: AccountState): Pick<Known, 'letPass'> {
  if (state.phase !== 'paused' || state.because.thumbprint === undefined) return {};
  const { code, thumbprint } = state.because;
  return { letPass: { code, thumbprint } };
}

function resumedFor(state: AccountState): Pick<Known, 'resumedFor'> {
  if (state.phase !== 'paused' || state.because.cause !== 'rights' || state.because.requestId === undefined) return {};
  const { code, requestId } = state.because;
  return { resumedFor: { code, requestId } };
}
