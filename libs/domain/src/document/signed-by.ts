import type { ClockSource, Sha256 } from '#kernel';

/**
 * What is needed to judge a signature years later. Absent for an account that does not sign; chain, moment and clock
 * are absent in events of older versions too.
 */
export interface SignedBy {
  signatureSha256?: Sha256;
  certificateSha256?: Sha256;
  /** PEM of the signer's certificate and of its issuers, as far as the signer gave them. */
  chainSha256?: Sha256;
  /** When the signature was there, by `clock`: ISO 8601. What the signature itself claims stands in it. */
  signedAt?: string;
  clock?: ClockSource;
}
