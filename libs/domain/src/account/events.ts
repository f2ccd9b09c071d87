import type { Sha256 } from '#kernel';

/**
 * Why nothing is sent through an account. `signature`: the registry does not take its signatures. `certificate`: its
 * certificate has ended, is not yet valid, or is another user's. `rights`: the user may not do it. `blocked`: the user
 * is blocked. `sign_in`: the registry refuses to sign it in.
 */
export const ACCOUNT_CAUSES = ['signature', 'certificate', 'rights', 'blocked', 'sign_in'] as const;
export type AccountCause = (typeof ACCOUNT_CAUSES)[number];

/** What is known of the certificate with which an account signs. Never its key. */
export interface AccountCertificate {
  /** SHA-1 over the DER, in lower-case hexadecimal: a resident's user id at the registry (public-facts 1.1). */
  thumbprint: string;
  /** Of the same bytes in the evidence. */
  certificateSha256: Sha256;
  subject: string;
  /** ISO 8601. */
  validFrom: string;
  validTo: string;
}

/** A worker signs with another certificate than before. */
interface AccountCertificateSeen {
  type: 'AccountCertificateSeen';
  data: AccountCertificate & { account: string };
}

/**
 * What the documents of an account wait for. `code` is the registry's own code, or ours where we found it ourselves.
 */
export interface AccountPaused {
  type: 'AccountPaused';
  data: {
    account: string;
    cause: AccountCause;
    code: string;
    text: string;
    /** The answer that said so, and the document that was sent. */
    answerSha256?: Sha256;
    requestId?: string;
    /** The certificate at fault, where we found that ourselves. */
    thumbprint?: string;
  };
}

/** A person has it go on; who and why is in the metadata. */
interface AccountResumed {
  type: 'AccountResumed';
  data: { account: string };
}

export type AccountEvent = AccountCertificateSeen | AccountPaused | AccountResumed;

const ACCOUNT_STREAM_PREFIX = 'account-';
export const accountStream = (account: string): string => `${ACCOUNT_STREAM_PREFIX}${account}`;
