import { neverReached } from '#kernel';
import type { AccountCertificate, AccountEvent, AccountPaused } from './events.js';

interface Known {
  certificate?: AccountCertificate;
  /** What we found at a certificate ourselves, and a person let pass: it does not pause the account again. */
  letPass?: { code: string; thumbprint: string };
}

export type AccountState = ({ phase: 'active' } & Known) | ({ phase: 'paused'; because: AccountPaused['data'] } & Known);

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
      return { ...known(state), phase: 'active', ...letPass(state) };
    default:
      return neverReached(event, 'account event');
  }
}

const known = ({ certificate, letPass: passed }: AccountState): Known => ({
  ...(certificate === undefined ? {} : { certificate }),
  ...(passed === undefined ? {} : { letPass: passed }),
});

function letPass(state: AccountState): Pick<Known, 'letPass'> {
  if (state.phase !== 'paused' || state.because.thumbprint === undefined) return {};
  const { code, thumbprint } = state.because;
  return { letPass: { code, thumbprint } };
}
