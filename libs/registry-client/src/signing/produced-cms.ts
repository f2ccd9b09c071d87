import { createHash, verify, X509Certificate, type KeyObject } from 'node:crypto';
import * as asn1js from 'asn1js';
import { attributesOf, bytesOf, children, contentOf, oidOf, partsOf, refuse, tagged } from './cms-parts.js';
import { issuerAndSerial } from './detached-cms.js';
import { OID, SET } from './der.js';

/** Digests that Node computes. GOST R 34.11-2012 is not among them: what is signed with it is checked by its structure alone. */
const DIGESTS: Record<string, string> = {
  '1.3.14.3.2.26': 'sha1',
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};
/** RSA by PKCS#1 and ECDSA, alone or with a digest in the name. RSA-PSS has parameters of its own and is left to the registry. */
const VERIFIED_HERE = new Set([OID.rsaEncryption, '1.2.840.113549.1.1.5', OID.sha256WithRsa, '1.2.840.113549.1.1.12', '1.2.840.113549.1.1.13', '1.2.840.10045.4.1', '1.2.840.10045.4.3.2', '1.2.840.10045.4.3.3', '1.2.840.10045.4.3.4']);

const PEM = /-----BEGIN (?:PKCS7|CMS|PKCS #7 SIGNED DATA)-----([A-Za-z0-9+/=\s]+)-----END /;

/**
 * DER of a signature that came as DER, as PEM or as bare base64, with or without line breaks.
 * @throws PedigreeError invalid_parameter when it is none of these.
 */
export function derOfProduced(output: Uint8Array): Buffer {
  const bytes = Buffer.from(output);
  if (bytes.length === 0) return refuse('it is empty');
  if (asn1js.fromBER(bytes).offset === bytes.length) return bytes;
  const text = bytes.toString('latin1');
  const base64 = (PEM.exec(text)?.[1] ?? text).replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return refuse('it is neither DER nor PEM nor base64');
  const der = Buffer.from(base64, 'base64');
  return asn1js.fromBER(der).offset === der.length ? der : refuse('it is base64 of something that is not DER');
}

/**
 * Checks what somebody else produced: a detached signature with one signer, by the expected certificate where one is expected; and with RSA or
 * ECDSA over a SHA digest also that it holds for the content. Gives the signer's certificate.
 * @throws PedigreeError invalid_parameter saying what is wrong.
 */
export function checkProducedCms(content: Uint8Array, cms: Buffer, expected: X509Certificate | undefined): X509Certificate {
  const { certificates, signer } = partsOf(cms);
  const certificate = signerOf(certificates, signer[1], expected);
  const digest = DIGESTS[oidOf(children(signer[2], 'digestAlgorithm')[0])];
  if (digest === undefined) return certificate;
  const attributes = tagged(signer[3], 0) ? attributesOf(signer[3]) : undefined;
  const [algorithm, value] = signer.slice(attributes === undefined ? 3 : 4);
  if (attributes !== undefined) {
    const claimed = contentOf(attributes.get(OID.messageDigest));
    if (!claimed.equals(createHash(digest).update(content).digest())) return refuse('it is over other content');
  }
  const key = publicKeyOf(certificate);
  if (key === undefined || !VERIFIED_HERE.has(oidOf(children(algorithm, 'signatureAlgorithm')[0]))) return certificate;
  const signed = attributes === undefined ? content : asSet(bytesOf(signer[3]));
  return verify(digest, signed, key, contentOf(value)) ? certificate : refuse('it does not verify by its certificate');
}

/** The certificate that the signature names, inside it or expected. */
function signerOf(certificates: Buffer[], name: asn1js.AsnType | undefined, expected: X509Certificate | undefined): X509Certificate {
  const named = (der: Buffer): boolean => isNamed(der, name);
  if (expected !== undefined && !named(expected.raw)) return refuse('it was made with another certificate than the configured one');
  const inside = certificates.find(named);
  if (inside === undefined) return expected ?? refuse('the certificate of its signer is not inside, and none is configured (certificate_file)');
  if (expected !== undefined && !expected.raw.equals(inside)) return refuse('it carries another certificate than the configured one');
  return expected ?? new X509Certificate(inside);
}

/** A signer is named by issuer and serial number; one named by a key identifier is told by the signature alone. */
function isNamed(der: Buffer, name: asn1js.AsnType | undefined): boolean {
  if (tagged(name, 0)) return true;
  const [issuer, serial] = children(name, 'signer');
  const own = namesIn(der);
  return own.issuer.equals(bytesOf(issuer)) && own.serial.equals(bytesOf(serial));
}

function namesIn(certificate: Buffer): { issuer: Buffer; serial: Buffer } {
  try {
    return issuerAndSerial(certificate);
  } catch {
    return refuse('a certificate inside cannot be read');
  }
}

/** Node knows no GOST keys. */
function publicKeyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined;
  }
}

/** What was signed is the attributes as a SET OF, not under their context tag (RFC 5652, 5.4). */
function asSet(attributes: Buffer): Buffer {
  attributes[0] = SET;
  return attributes;
}
