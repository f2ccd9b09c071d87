import { constants, createPrivateKey, privateEncrypt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import forge from 'node-forge';

interface KeyPair {
  key: forge.pki.rsa.PrivateKey;
  certificate: forge.pki.Certificate;
}

/** What stands before a SHA-256 digest in a signature of RSASSA-PKCS1-v1_5 (RFC 8017, 9.2). */
const SHA256_DIGEST_INFO = Buffer.from('3031300d060960864801650304020105000420', 'hex');
const cache = new Map<string, KeyPair>();

function keyPairOf(account: string): KeyPair {
  const known = cache.get(account);
  if (known !== undefined) return known;
  const file = readFileSync(new URL(`../data/accounts/${account}.p12`, import.meta.url));
  const p12 = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(file.toString('binary')), 'sandbox');
  const bags = (type: string) => p12.getBags({ bagType: type })[type]?.[0];
  const oids = forge.pki.oids as Record<string, string>;
  const pair = {
    key: bags(oids['pkcs8ShroudedKeyBag'] as string)?.key as forge.pki.rsa.PrivateKey,
    certificate: bags(oids['certBag'] as string)?.cert as forge.pki.Certificate,
  };
  signNatively(pair.key);
  cache.set(account, pair);
  return pair;
}

/**
 * The library's own arithmetic takes over a second for a signature on Node 21 and newer, where it mistakes the runtime
 * for a browser.
 */
function signNatively(key: forge.pki.rsa.PrivateKey): void {
  const native = { key: createPrivateKey(forge.pki.privateKeyToPem(key)), padding: constants.RSA_PKCS1_PADDING };
  key.sign = (digest: forge.md.MessageDigest) =>
    privateEncrypt(
      native,
      Buffer.concat([SHA256_DIGEST_INFO, Buffer.from(digest.digest().getBytes(), 'binary')]),
    ).toString('binary');
}

/**
 * A detached CMS over the bytes by an account of the default world, in base64; made by another library than the one
 * that checks it.
 */
export const signAs = (account: string, bytes: Uint8Array, options: { detached?: boolean } = {}): string =>
  signWith(keyPairOf(account), bytes, options);

/** The same by any key and its certificate, both PEM. */
export function signByPem({ key, certificate }: { key: string; certificate: string }, bytes: Uint8Array): string {
  const pair = { key: forge.pki.privateKeyFromPem(key), certificate: forge.pki.certificateFromPem(certificate) };
  signNatively(pair.key);
  return signWith(pair, bytes, {});
}

function signWith({ key, certificate }: KeyPair, bytes: Uint8Array, options: { detached?: boolean }): string {
  const oids = forge.pki.oids as Record<string, string>;
  const signed = forge.pkcs7.createSignedData();
  signed.content = forge.util.createBuffer(Buffer.from(bytes).toString('binary'));
  signed.addCertificate(certificate);
  signed.addSigner({
    key,
    certificate,
    digestAlgorithm: oids['sha256'] as string,
    authenticatedAttributes: [
      { type: oids['contentType'] as string, value: oids['data'] as string },
      { type: oids['messageDigest'] as string },
      { type: oids['signingTime'] as string },
    ],
  });
  signed.sign({ detached: options.detached ?? true });
  return Buffer.from(forge.asn1.toDer(signed.toAsn1()).getBytes(), 'binary').toString('base64');
}
