import { createHash, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import * as asn1js from 'asn1js';
import { attributesOf, bytesOf, children, contentOf, oidOf, partsOf, refuse } from './cms-parts.js';
import { OID, SET } from './der.js';

/** What a good detached signature says. */
export interface VerifiedCms {
  /** DER of the signer's certificate. Whether it is trusted is the caller's question. */
  certificate: Buffer;
  signedAt: Date;
}

/** The certificate that the signed signing-certificate-v2 names by its SHA-256 (RFC 5035). */
function signerCertificate(certificates: Buffer[], attribute: asn1js.AsnType | undefined): Buffer {
  const certs = children(children(attribute, 'signing-certificate-v2')[0], 'signing-certificate-v2');
  const id = children(certs[0], 'signing-certificate-v2');
  const hash = contentOf(id.find((block) => block instanceof asn1js.OctetString));
  return (
    certificates.find((der) => createHash('sha256').update(der).digest().equals(hash)) ??
    refuse('its certificate is not inside')
  );
}

/**
 * Checks a detached CMS over SHA-256 with RSA against the content: digest, signature, and that the certificate inside
 * is the one that was signed for. Trust in the certificate and its validity in time are not judged.
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
  if (algorithm !== OID.rsaEncryption && algorithm !== OID.sha256WithRsa)
    return refuse('its algorithm is not RSA with SHA-256');
  // What was signed is the attributes as a SET OF, not under their context tag (RFC 5652, 5.4).
  const signed = bytesOf(signer[3]);
  signed[0] = SET;
  if (!verify('sha256', signed, new X509Certificate(certificate).publicKey, contentOf(signer[5])))
    return refuse('it does not verify');
  const time = attributes.get(OID.signingTime);
  const signedAt =
    time instanceof asn1js.UTCTime || time instanceof asn1js.GeneralizedTime
      ? time.toDate()
      : refuse('it has no signing time');
  return { certificate, signedAt };
}
