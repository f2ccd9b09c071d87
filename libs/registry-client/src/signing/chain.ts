import { X509Certificate } from 'node:crypto';

/** Certificates of one chain, and those among which they are looked for. */
const MOST_IN_CHAIN = 10;
const MOST_LOOKED_AT = 100;

/**
 * The certificate of a signer and those of its issuers, each after the one that it has issued, as PEM (RFC 7468, RFC
 * 8555 9.1): as far as they are among `given`. Issuers are told by their names and key identifiers; whether a signature
 * holds is for whoever judges it.
 */
export function pemChain(signer: Buffer, given: readonly Buffer[]): Buffer {
  const candidates = given.slice(0, MOST_LOOKED_AT).flatMap((der) => readable(der));
  const chain = [new X509Certificate(signer)];
  while (chain.length < MOST_IN_CHAIN) {
    const last = chain.at(-1) as X509Certificate;
    const issuer = candidates.find(
      (one) => last.checkIssued(one) && chain.every((known) => !known.raw.equals(one.raw)),
    );
    if (issuer === undefined) break;
    chain.push(issuer);
  }
  return Buffer.from(chain.map((one) => one.toString()).join(''));
}

/** What stands among certificates may be none, such as an attribute certificate. */
function readable(der: Buffer): X509Certificate[] {
  try {
    return [new X509Certificate(der)];
  } catch {
    return [];
  }
}
