import { createHash, timingSafeEqual } from 'node:crypto';
import { isUuid, uuid5 } from '#kernel';
import { signerCertificate, whyCmsFails, type SignerCertificate } from './cms.js';

/**
 * How a user proves who he is: a resident by the signature of his certificate, a non-resident by a password
 * (public-facts 1.1).
 */
export interface Identity {
  /** In lower case: a resident's certificate thumbprint or the registry's own id; of a non-resident a GUID. */
  userId: string;
  /** Of a non-resident, in lower case. */
  login?: string | undefined;
  certificate: SignerCertificate | undefined;
  /** SHA-256 in hexadecimal. */
  passwordSha256: string | undefined;
}

export interface IdentityParts {
  userId?: string | undefined;
  /** PEM or DER. */
  certificate?: Buffer | undefined;
  passwordSha256?: string | undefined;
}

/** The registry gives an id to a login; here it follows from the login. */
const LOGINS = '2f0a4d0e-6f5b-4c53-8a3e-5d0c1c0f7a11';

/** Throws an Error unless it is a certificate, or a login with a password. */
export function identityOf({ userId, certificate: file, passwordSha256 }: IdentityParts): Identity {
  if ((file === undefined) === (passwordSha256 === undefined))
    throw new Error('a user has either a certificate or a password');
  const certificate = file === undefined ? undefined : signerCertificate(file);
  const id = userId ?? certificate?.thumbprint;
  if (id === undefined || id === '') throw new Error('a user with a password needs a userId: the login');
  const name = id.toLowerCase();
  if (certificate !== undefined) return { userId: name, certificate, passwordSha256 };
  return { userId: isUuid(name) ? name : uuid5(name, LOGINS), login: name, certificate, passwordSha256 };
}

/** Under which user_id he signs in: a non-resident by his login or by the registry's id (public-facts 1.1). */
export const namesOf = ({ userId, login = userId }: Identity): string[] => [...new Set([userId, login])];

export const passwordDigest = (password: string): string => createHash('sha256').update(password).digest('hex');

/** The auth_type of this user's sign-in. */
export const authTypeOf = (identity: Identity): 'SIGNED_CODE' | 'PASSWORD' =>
  identity.certificate === undefined ? 'PASSWORD' : 'SIGNED_CODE';

/** Why the password is not this user's; undefined when it is. */
export function whyPasswordFails({ passwordSha256 }: Identity, password: string): string | undefined {
  const same =
    passwordSha256 !== undefined && timingSafeEqual(Buffer.from(passwordSha256), Buffer.from(passwordDigest(password)));
  return same ? undefined : 'the password is wrong';
}

/** Why the signature is not this user's over the content; undefined when it is. */
export function whySignatureFails({ certificate }: Identity, cms: Buffer, content: Uint8Array): string | undefined {
  return certificate === undefined
    ? 'this user has no certificate and signs nothing'
    : whyCmsFails(cms, content, certificate);
}

export const CERTIFICATE_EXPIRED = 'the certificate is not valid at this time';

/** Why the certificate is of no use at this moment; undefined when it is. */
export function whyCertificateFails({ certificate }: Identity, nowMs: number): string | undefined {
  if (certificate === undefined) return undefined;
  return nowMs < certificate.validFromMs || nowMs > certificate.validToMs ? CERTIFICATE_EXPIRED : undefined;
}
