import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import forge from 'node-forge';

/**
 * A certificate for 127.0.0.1 that is its own authority, and its key, both PEM; good for an hour, or until the moment
 * that is given.
 */
export function selfSigned({ validTo = new Date(Date.now() + 3_600_000) } = {}): { certificate: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = '01';
  certificate.validity.notBefore = new Date(Math.min(Date.now(), validTo.getTime()) - 3_600_000);
  certificate.validity.notAfter = validTo;
  certificate.setSubject([{ name: 'commonName', value: 'test' }]);
  certificate.setIssuer([{ name: 'commonName', value: 'test' }]);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: true },
    { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(privateKey), forge.md.sha256.create());
  const pem = forge.pki.certificateToPem(certificate);
  if (!new X509Certificate(pem).checkPrivateKey(createPrivateKey(privateKey))) throw new Error('the key does not fit');
  return { certificate: pem, key: privateKey };
}

/** The same as a PKCS#12 file. */
export function pkcs12Of({ certificate, key }: ReturnType<typeof selfSigned>, password: string): Buffer {
  const made = forge.pkcs12.toPkcs12Asn1(
    forge.pki.privateKeyFromPem(key),
    [forge.pki.certificateFromPem(certificate)],
    password,
  );
  return Buffer.from(forge.asn1.toDer(made).getBytes(), 'binary');
}
