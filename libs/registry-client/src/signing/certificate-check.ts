import { createHash, X509Certificate } from 'node:crypto';

/** What a certificate says of itself. */
export interface CertificateFacts {
  /** SHA-1 over the DER in lower-case hexadecimal. */
  thumbprint: string;
  subject: string;
  validFrom: Date;
  validTo: Date;
}

/** Why nothing should be signed with a certificate. */
export interface CertificateFault {
  code: 'certificate_ended' | 'certificate_not_yet_valid' | 'certificate_of_another';
  text: string;
}

const THUMBPRINT = /^[0-9a-f]{40}$/;

/** Reads a certificate in DER. Its subject comes on one line. */
export function certificateFacts(der: Uint8Array): CertificateFacts {
  const certificate = new X509Certificate(der);
  return {
    thumbprint: createHash('sha1').update(der).digest('hex'),
    subject: certificate.subject.split('\n').join(', '),
    validFrom: new Date(certificate.validFrom),
    validTo: new Date(certificate.validTo),
  };
}

/**
 * Holds a certificate against the moment and against the account's user id. A user id of 40 hexadecimal digits is the
 * certificate's SHA-1 (public-facts 1.1); of another one, such as the registry's own id, nothing is known.
 */
export function certificateFault(
  { thumbprint, subject, validFrom, validTo }: CertificateFacts,
  userId: string,
  now: Date,
): CertificateFault | undefined {
  const wanted = userId.toLowerCase();
  if (THUMBPRINT.test(wanted) && wanted !== thumbprint)
    return {
      code: 'certificate_of_another',
      text: `the certificate ${thumbprint} (${subject}) is not that of the user ${wanted}`,
    };
  if (now >= validTo)
    return {
      code: 'certificate_ended',
      text: `the certificate ${thumbprint} (${subject}) ended at ${validTo.toISOString()}`,
    };
  if (now < validFrom)
    return {
      code: 'certificate_not_yet_valid',
      text: `the certificate ${thumbprint} (${subject}) is valid from ${validFrom.toISOString()} on`,
    };
  return undefined;
}
