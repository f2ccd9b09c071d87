import { createHash, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import { PedigreeError } from '#kernel';
import * as asn1js from 'asn1js';
import { OID, SET } from './der.js';

/** What a good detached signature says. */
export interface VerifiedCms {
  /** DER of the signer's certificate. Whether it is trusted is the caller's question. */
  certificate: Buffer;
  signedAt: Date;
}

const refuse = (why: string): never => {
  throw new PedigreeError('invalid_parameter', `signature: ${why}`, { field: 'signature' });
};

/** Children of a constructed element. */
function children(block: asn1js.AsnType | undefined, what: string): asn1js.AsnType[] {
  const value = (block as asn1js.Constructed | undefined)?.valueBlock?.value;
  return Array.isArray(value) ? (value as asn1js.AsnType[]) : refuse(`${what} is not where it should be`);
}

const bytesOf = (block: asn1js.AsnType | undefined): Buffer =>
  block === undefined ? refuse('it ends too early') : Buffer.from(block.valueBeforeDecodeView);
const contentOf = (block: asn1js.AsnType | undefined): Buffer =>
  block instanceof asn1js.OctetString ? Buffer.from(block.valueBlock.valueHexView) : refuse('an octet string is missing');
const oidOf = (block: asn1js.AsnType | undefined): string => (block instanceof asn1js.ObjectIdentifier ? block.valueBlock.toString() : '');
/** Content under a context tag written over a SET or SEQUENCE, or undefined when the tag is another. */
const tagged = (block: asn1js.AsnType | undefined, n: number): boolean => block?.idBlock.tagClass === 3 && block.idBlock.tagNumber === n;

/** The parts of SignedData with one signer (RFC 5652, 5.1). */
function partsOf(cms: Uint8Array): { certificates: Buffer[]; signer: asn1js.AsnType[] } {
  const { offset, result } = asn1js.fromBER(cms);
  if (offset !== cms.length) return refuse('it is not one DER value');
  const [type, explicit] = children(result, 'ContentInfo');
  if (oidOf(type) !== OID.signedData) return refuse('it is not SignedData');
  const data = children(children(explicit, 'SignedData')[0], 'SignedData');
  const encapsulated = children(data[2], 'EncapsulatedContentInfo');
  if (oidOf(encapsulated[0]) !== OID.data || encapsulated.length > 1) return refuse('it is not detached');
  const certificates = data.filter((block) => tagged(block, 0)).flatMap((block) => children(block, 'certificates').map(bytesOf));
  const signers = children(data[data.length - 1], 'SignerInfos');
  if (signers.length !== 1) return refuse(`it has ${signers.length} signers instead of one`);
  return { certificates, signer: children(signers[0], 'SignerInfo') };
}

/** Signed attributes by type; each has one value. */
function attributesOf(block: asn1js.AsnType | undefined): Map<string, asn1js.AsnType> {
  if (!tagged(block, 0)) return refuse('it has no signed attributes');
  return new Map(
    children(block, 'signedAttrs').map((attribute) => {
      const [type, values] = children(attribute, 'Attribute');
      return [oidOf(type), children(values, 'Attribute values')[0] as asn1js.AsnType];
    }),
  );
}

/** The certificate that the signed signing-certificate-v2 names by its SHA-256 (RFC 5035). */
function signerCertificate(certificates: Buffer[], attribute: asn1js.AsnType | undefined): Buffer {
  const certs = children(children(attribute, 'signing-certificate-v2')[0], 'signing-certificate-v2');
  const id = children(certs[0], 'signing-certificate-v2');
  const hash = contentOf(id.find((block) => block instanceof asn1js.OctetString));
  return certificates.find((der) => createHash('sha256').update(der).digest().equals(hash)) ?? refuse('its certificate is not inside');
}

/**
 * Checks a detached CMS over SHA-256 with RSA against the content: digest, signature, and that the certificate inside is the one that was
 * signed for. Trust in the certificate and its validity in time are not judged.
 * @throws PedigreeError invalid_parameter saying what is wrong.
 */
export function verifyDetachedCms(content: Uint8Array, cms: Uint8Array): VerifiedCms {
  const { certificates, signer } = partsOf(cms);
  const attributes = attributesOf(signer[3]);
  if (oidOf(attributes.get(OID.contentType)) !== OID.data) return refuse('its content type is not signed');
  if (oidOf(children(signer[2], 'digestAlgorithm')[0]) !== OID.sha256) return refuse('its digest is not SHA-256');
  const digest = createHash('sha256').update(content).digest();
  const claimed = contentOf(attributes.get(OID.messageDigest));
  if (claimed.length !== digest.length || !timingSafeEqual(claimed, digest)) return refuse('it is over other content');
  const certificate = signerCertificate(certificates, attributes.get(OID.signingCertificateV2));
  const algorithm = oidOf(children(signer[4], 'signatureAlgorithm')[0]);
  if (algorithm !== OID.rsaEncryption && algorithm !== OID.sha256WithRsa) return refuse('its algorithm is not RSA with SHA-256');
  // What was signed is the attributes as a SET OF, not under their context tag (RFC 5652, 5.4).
  const signed = bytesOf(signer[3]);
  signed[0] = SET;
  if (!verify('sha256', signed, new X509Certificate(certificate).publicKey, contentOf(signer[5]))) return refuse('it does not verify');
  const time = attributes.get(OID.signingTime);
  const signedAt = time instanceof asn1js.UTCTime || time instanceof asn1js.GeneralizedTime ? time.toDate() : refuse('it has no signing time');
  return { certificate, signedAt };
}
