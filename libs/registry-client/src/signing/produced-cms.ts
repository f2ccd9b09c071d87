import { createHash, verify, X509Certificate, type KeyObject } from 'node:crypto';
import { PedigreeError } from '#kernel';
import { refuse } from './cms-parts.js';
import { contentOf, elementAt, inside, isOid, whole, type DerElement } from './der-reader.js';
import { context, OCTET_STRING, OID, oid, SEQUENCE, SET } from './der.js';

const hex = (dotted: string): string => oid(dotted).toString('hex');
/**
 * Digests that Node computes. GOST R 34.11-2012 is not among them: what is signed with it is checked by its structure
 * alone.
 */
const DIGESTS: Record<string, string> = {
  [hex('1.3.14.3.2.26')]: 'sha1',
  [hex('2.16.840.1.101.3.4.2.1')]: 'sha256',
  [hex('2.16.840.1.101.3.4.2.2')]: 'sha384',
  [hex('2.16.840.1.101.3.4.2.3')]: 'sha512',
};
/**
 * RSA by PKCS#1 (alone, or with SHA-1 to SHA-512 in its name) and ECDSA. RSA-PSS has parameters of its own and is left
 * to the registry.
 */
const VERIFIED_HERE = new Set(
  [
    '1.2.840.113549.1.1.1',
    '1.2.840.113549.1.1.5',
    '1.2.840.113549.1.1.11',
    '1.2.840.113549.1.1.12',
    '1.2.840.113549.1.1.13',
    '1.2.840.10045.4.1',
    '1.2.840.10045.4.3.2',
    '1.2.840.10045.4.3.3',
    '1.2.840.10045.4.3.4',
  ].map(hex),
);
const [SIGNED_DATA, DATA, MESSAGE_DIGEST] = [oid(OID.signedData), oid(OID.data), oid(OID.messageDigest)];
const [CONTEXT_0, CONTEXT_3] = [context(0), context(3)];
/** The extension that tells the identifier of a certificate's key. */
const KEY_ID = oid('2.5.29.14');
/** A signer named by key identifier: [0] IMPLICIT, primitive. */
const KEY_IDENTIFIER = 0x80;

const PEM = /-----BEGIN (?:PKCS7|CMS|PKCS #7 SIGNED DATA)-----([A-Za-z0-9+/=\s]+)-----END /;

/** A certificate with what each check needs of it; read once. */
export interface KnownCertificate {
  der: Buffer;
  expiresAt: Date;
  /** Issuer and serial number, as DER. */
  names: [Buffer, Buffer];
  /** Its key's identifier, where the certificate tells it (RFC 5280, 4.2.1.2). */
  keyId: Buffer | undefined;
  /** Undefined: a GOST key, which Node does not know. */
  key: KeyObject | undefined;
}

/**
 * Reads a certificate, PEM or DER.
 * @throws PedigreeError invalid_parameter when it is none.
 */
export function knownCertificate(file: Buffer): KnownCertificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(file);
  } catch {
    return refuse('what stands for its certificate cannot be read');
  }
  return {
    der: certificate.raw,
    expiresAt: new Date(certificate.validTo),
    names: namesIn(certificate.raw),
    keyId: keyIdIn(certificate.raw),
    key: keyOf(certificate),
  };
}

/**
 * DER of a signature that came as DER, as PEM or as bare base64, with or without line breaks.
 * @throws PedigreeError invalid_parameter when it is none of these.
 */
export function derOfProduced(output: Uint8Array): Buffer {
  const bytes = Buffer.from(output);
  if (bytes.length === 0) return refuse('it is empty');
  if (isOneSequence(bytes)) return bytes;
  const text = bytes.toString('latin1');
  const base64 = (PEM.exec(text)?.[1] ?? text).replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return refuse('it is neither DER nor PEM nor base64');
  const der = Buffer.from(base64, 'base64');
  return isOneSequence(der) ? der : refuse('it is base64 of something that is not DER');
}

function isOneSequence(bytes: Buffer): boolean {
  try {
    return bytes[0] === SEQUENCE && elementAt(bytes).to === bytes.length;
  } catch {
    return false;
  }
}

export interface Expectation {
  /** Whose signature it must be. */
  expected?: KnownCertificate | undefined;
  /** Whose it probably is: spares reading the certificate again. */
  last?: KnownCertificate | undefined;
}

/**
 * Checks what somebody else produced (RFC 5652): a detached signature with one signer, by the expected certificate
 * where one is expected; and with RSA or ECDSA over a SHA digest also that it holds for the content. Gives the signer's
 * certificate.
 * @throws PedigreeError invalid_parameter saying what is wrong.
 */
export function checkProducedCms(content: Uint8Array, cms: Buffer, expectation: Expectation): KnownCertificate {
  const { certificates, signer } = partsOf(cms);
  const certificate = signerOf(certificates, signer[1], expectation);
  const digest = DIGESTS[algorithmOf(signer[2])];
  if (digest === undefined) return certificate;
  const attributes = signedAttributes(signer);
  const [algorithm, value] = signer.slice(attributes === undefined ? 3 : 4);
  if (attributes !== undefined && !digestIn(attributes).equals(createHash(digest).update(content).digest()))
    return refuse('it is over other content');
  if (certificate.key === undefined || !VERIFIED_HERE.has(algorithmOf(algorithm))) return certificate;
  if (value?.tag !== OCTET_STRING) return refuse('the signature value is not where it should be');
  return verify(digest, attributes === undefined ? content : asSet(attributes), certificate.key, contentOf(value))
    ? certificate
    : refuse('it does not verify by its certificate');
}

/** The certificates that a signature carries, as DER, in its order. */
export const certificatesIn = (cms: Buffer): Buffer[] => partsOf(cms).certificates;

const signedAttributes = ([, , , fourth]: DerElement[]): DerElement | undefined =>
  fourth?.tag === CONTEXT_0 ? fourth : undefined;

/** The certificates of SignedData with one signer, and the fields of that signer. */
function partsOf(cms: Buffer): { certificates: Buffer[]; signer: DerElement[] } {
  const [type, explicit] = inside(elementAt(cms), 'ContentInfo');
  if (!isOid(type, SIGNED_DATA)) return refuse('it is not SignedData');
  const fields = inside(inside(explicit, 'SignedData')[0], 'SignedData');
  const encapsulated = inside(fields[2], 'EncapsulatedContentInfo');
  if (!isOid(encapsulated[0], DATA) || encapsulated.length > 1) return refuse('it is not detached');
  const certificates = fields
    .filter(({ tag }) => tag === CONTEXT_0)
    .flatMap((set) => inside(set, 'certificates').map(whole));
  const signers = inside(fields.at(-1), 'SignerInfos');
  if (signers.length !== 1) return refuse(`it has ${signers.length} signers instead of one`);
  return { certificates, signer: inside(signers[0], 'SignerInfo') };
}

/** The certificate that the signature names, inside it or expected. */
function signerOf(
  certificates: Buffer[],
  name: DerElement | undefined,
  { expected, last }: Expectation,
): KnownCertificate {
  const read = (der: Buffer): KnownCertificate =>
    [expected, last].find((known) => known?.der.equals(der)) ?? knownCertificate(der);
  if (expected !== undefined && !isNamed(expected, name))
    return refuseCertificate('it was made with another certificate than the configured one');
  const found = certificates.map(read).find((certificate) => isNamed(certificate, name));
  if (found === undefined)
    return expected ?? refuse('the certificate of its signer is not inside, and none is configured (certificate_file)');
  return expected === undefined || expected === found
    ? found
    : refuseCertificate('it carries another certificate than the configured one');
}

const refuseCertificate = (why: string): never => {
  throw new PedigreeError('invalid_parameter', `signature: ${why}`, { field: 'certificate' });
};

/** A signer is named by issuer and serial number, or by the identifier of his key; some certificates tell none. */
function isNamed({ names, keyId }: KnownCertificate, name: DerElement | undefined): boolean {
  if (name?.tag === KEY_IDENTIFIER) return keyId?.equals(contentOf(name)) ?? true;
  const [issuer, serial] = inside(name, 'the name of the signer').map(whole);
  return issuer !== undefined && serial !== undefined && names[0].equals(issuer) && names[1].equals(serial);
}

const fieldsOf = (certificate: Buffer): DerElement[] =>
  inside(inside(elementAt(certificate), 'the certificate')[0], 'the certificate');

function namesIn(certificate: Buffer): [Buffer, Buffer] {
  const fields = fieldsOf(certificate);
  // The version is [0] EXPLICIT and absent in version 1 certificates.
  const [serial, , issuer] = fields[0]?.tag === CONTEXT_0 ? fields.slice(1) : fields;
  return serial === undefined || issuer === undefined
    ? refuse('a certificate inside cannot be read')
    : [whole(issuer), whole(serial)];
}

function keyIdIn(certificate: Buffer): Buffer | undefined {
  const explicit = fieldsOf(certificate).find(({ tag }) => tag === CONTEXT_3);
  if (explicit === undefined) return undefined;
  for (const extension of inside(inside(explicit, 'the extensions')[0], 'the extensions')) {
    const parts = inside(extension, 'an extension');
    const value = parts.at(-1);
    if (isOid(parts[0], KEY_ID) && value !== undefined) return octetsIn(contentOf(value));
  }
  return undefined;
}

/** The one OCTET STRING of which the bytes should be; some issuers write something else. */
function octetsIn(bytes: Buffer): Buffer | undefined {
  try {
    const octets = elementAt(bytes);
    return octets.tag === OCTET_STRING && octets.to === bytes.length ? contentOf(octets) : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined;
  }
}

/** An algorithm's identifier in hexadecimal. */
function algorithmOf(element: DerElement | undefined): string {
  const [type] = inside(element, 'an algorithm');
  return type === undefined ? '' : whole(type).toString('hex');
}

function digestIn(attributes: DerElement): Buffer {
  for (const attribute of inside(attributes, 'signedAttrs')) {
    const [type, values] = inside(attribute, 'an attribute');
    if (!isOid(type, MESSAGE_DIGEST)) continue;
    const [value] = inside(values, 'the message digest');
    if (value?.tag === OCTET_STRING) return contentOf(value);
  }
  return refuse('it has no message digest');
}

/** What was signed is the attributes as a SET OF, not under their context tag (RFC 5652, 5.4). */
function asSet(attributes: DerElement): Buffer {
  const copy = Buffer.from(whole(attributes));
  copy[0] = SET;
  return copy;
}
