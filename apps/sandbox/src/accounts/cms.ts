import {
  constants,
  createHash,
  createPublicKey,
  verify,
  X509Certificate,
  type KeyObject,
  type VerifyKeyObjectInput,
} from 'node:crypto';
import { isGostKey, whyGostCmsFails } from './gost.js';
import { derChild, derChildren, derContent, derElement, derOid, derWhole, type DerElement } from './der.js';

/** What a signature is checked against; parsed once per account. */
export interface SignerCertificate {
  der: Buffer;
  /** Null: a GOST key, which Node does not know. */
  publicKey: KeyObject | null;
  /** Issuer name and serial number, as a signature names its signer. */
  issuer: Buffer;
  serial: Buffer;
  /** SHA-1 of the certificate, lower-case hexadecimal: the user id of a resident (public-facts 1.1). */
  thumbprint: string;
  validFromMs: number;
  validToMs: number;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const OCTETS = 0x04;
const OID = 0x06;
const CONTEXT_0 = 0xa0;

const SIGNED_DATA = '2a864886f70d010702';
const MESSAGE_DIGEST = '2a864886f70d010904';
const RSA_PSS = '2a864886f70d01010a';
const DIGESTS: Record<string, string> = {
  '2b0e03021a': 'sha1',
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
};

/** Why a signature fails that another one's certificate made. */
export const FOREIGN_CERTIFICATE: readonly string[] = [
  'the certificate in the signature is not the one registered for this user',
  'the signer is not the owner of the certificate registered for this user',
];

/** Parses a certificate (PEM or DER). */
export function signerCertificate(file: Buffer): SignerCertificate {
  const certificate = new X509Certificate(file);
  const der = certificate.raw;
  const [body] = derChildren(derElement(der));
  if (body === undefined) throw new Error('the certificate is empty');
  const fields = derChildren(body).filter((field) => field.tag !== CONTEXT_0);
  const [serial, , issuer, , , keyInfo] = fields;
  if (serial === undefined || issuer === undefined || keyInfo === undefined)
    throw new Error('the certificate has no issuer or no key');
  const gost = isGostKey(algorithm(derChildren(keyInfo)[0]));
  return {
    der,
    publicKey: gost ? null : createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })),
    issuer: derWhole(issuer),
    serial: derWhole(serial),
    thumbprint: createHash('sha1').update(der).digest('hex'),
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  };
}

/**
 * Checks a detached CMS signature (RFC 5652, 5) over `content`: one signer, who is the owner of `certificate`; the
 * message digest among the signed attributes; the signature itself. Returns why it does not hold, or undefined when it
 * does.
 */
export function whyCmsFails(cms: Buffer, content: Uint8Array, certificate: SignerCertificate): string | undefined {
  try {
    const failure = checkSignedData(signedData(cms), content, certificate);
    return failure ?? (certificate.publicKey === null ? whyGostCmsFails(cms, content, certificate.der) : undefined);
  } catch (error) {
    return `the signature is no detached CMS in DER: ${(error as Error).message}`;
  }
}

function signedData(cms: Buffer): DerElement[] {
  const [type, wrapped] = derChildren(derElement(cms));
  if (type === undefined || wrapped === undefined || derOid(type) !== SIGNED_DATA)
    throw new Error('it is not signed data');
  return derChildren(derElement(cms, wrapped.contentFrom, wrapped.to));
}

function checkSignedData(
  fields: DerElement[],
  content: Uint8Array,
  certificate: SignerCertificate,
): string | undefined {
  const enclosed = derChildren(derChild(fields, SEQUENCE, 'the content type'));
  if (enclosed.length > 1) return 'the signature must be detached: it carries the content';
  const certificates = fields.find((field) => field.tag === CONTEXT_0);
  if (certificates !== undefined && !derChildren(certificates).some((one) => derWhole(one).equals(certificate.der))) {
    return FOREIGN_CERTIFICATE[0];
  }
  // The last SET is that of the signers; the first one names the digest algorithms.
  const signers = derChildren(derChild(fields.toReversed(), SET, 'the set of signers'));
  const [signer] = signers;
  if (signer === undefined || signers.length !== 1) return 'exactly one signer is expected';
  return checkSigner(derChildren(signer), content, certificate);
}

function checkSigner(fields: DerElement[], content: Uint8Array, certificate: SignerCertificate): string | undefined {
  const identity = fields[1];
  if (identity === undefined) return 'the signer is not named';
  if (identity.tag === SEQUENCE && !isOwner(identity, certificate)) return FOREIGN_CERTIFICATE[1];
  const { publicKey } = certificate;
  // What is signed by a GOST key is checked as a whole, elsewhere.
  if (publicKey === null) return undefined;
  const digest = DIGESTS[algorithm(fields[2])];
  if (digest === undefined) return 'the digest algorithm is not one of SHA-1, SHA-256, SHA-384, SHA-512';
  const attributes = fields.find((field) => field.tag === CONTEXT_0);
  if (attributes !== undefined && !digestAttribute(attributes)?.equals(createHash(digest).update(content).digest()))
    return 'the message digest does not match the content';
  const signedBytes = attributes === undefined ? content : asSet(derWhole(attributes));
  const signature = derContent(derChild(fields, OCTETS, 'the signature value'));
  return verify(digest, signedBytes, verifierKey(fields, publicKey), signature)
    ? undefined
    : 'the signature value does not verify';
}

/** Whether issuer and serial number are those of the certificate. */
function isOwner(identity: DerElement, certificate: SignerCertificate): boolean {
  const [issuer, serial] = derChildren(identity);
  return (
    issuer !== undefined &&
    serial?.tag === INTEGER &&
    derWhole(issuer).equals(certificate.issuer) &&
    derWhole(serial).equals(certificate.serial)
  );
}

function verifierKey(fields: DerElement[], key: KeyObject): KeyObject | VerifyKeyObjectInput {
  const signatureAlgorithm = algorithm(fields.slice(3).find((field) => field.tag === SEQUENCE));
  if (signatureAlgorithm !== RSA_PSS) return key;
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
}

function algorithm(element: DerElement | undefined): string {
  const oid = element === undefined ? undefined : derChildren(element)[0];
  return oid?.tag === OID ? derOid(oid) : '';
}

function digestAttribute(attributes: DerElement): Buffer | undefined {
  for (const attribute of derChildren(attributes)) {
    const [type, values] = derChildren(attribute);
    if (type === undefined || values === undefined || derOid(type) !== MESSAGE_DIGEST) continue;
    const [value] = derChildren(values);
    return value?.tag === OCTETS ? derContent(value) : undefined;
  }
  return undefined;
}

/** Signed attributes are signed as a SET, though they travel under a context tag (RFC 5652, 5.4). */
function asSet(attributes: Buffer): Buffer {
  const copy = Buffer.from(attributes);
  copy[0] = SET;
  return copy;
}
