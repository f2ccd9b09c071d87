import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import forge from 'node-forge';

/** What the registry speaks TLS with. */
export interface Tls {
  certificate: string;
  key: string;
  /** File of the authority's certificate, for clients to trust. */
  caFile: string;
  /** Removes what was kept for this run only. */
  forget(): void;
}

interface Pair {
  certificate: string;
  key: string;
}

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
const SERVER_DAYS = 365;
const AUTHORITY = [{ name: 'commonName', value: 'Pedigree sandbox authority' }];
const SERVER = [{ name: 'commonName', value: 'Pedigree sandbox' }];
const DNS = 2;
const IP = 7;
/** The sandbox listens on loopback only. */
const ALT_NAMES = [
  { type: DNS, value: 'localhost' },
  { type: IP, ip: '127.0.0.1' },
  { type: IP, ip: '::1' },
];

/**
 * A fresh certificate for this machine, by an authority that stays in the data folder: clients go on trusting it after
 * a restart. Without a data folder the authority is made anew.
 */
export function tlsOf(dataDir: string | undefined): Tls {
  const folder = dataDir === undefined ? mkdtempSync(join(tmpdir(), 'pedigree-sandbox-tls-')) : join(dataDir, 'tls');
  const forget = () => (dataDir === undefined ? rmSync(folder, { recursive: true, force: true }) : undefined);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const caFile = resolve(folder, 'ca.crt');
  const authority = authorityIn(caFile, resolve(folder, 'ca.key'));
  const issuer = forge.pki.certificateFromPem(authority.certificate);
  const server = issued({ subject: SERVER, issuer: issuer.subject.attributes, days: SERVER_DAYS }, authority.key, [
    { name: 'basicConstraints', cA: false },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: ALT_NAMES },
  ]);
  return { ...server, caFile, forget };
}

function authorityIn(certificateFile: string, keyFile: string): Pair {
  if (existsSync(certificateFile) && existsSync(keyFile))
    return { certificate: readFileSync(certificateFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  const made = issued({ subject: AUTHORITY, issuer: AUTHORITY, days: AUTHORITY_DAYS }, undefined, [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
  ]);
  writeFileSync(keyFile, made.key, { mode: 0o600 });
  writeFileSync(certificateFile, made.certificate);
  return made;
}

type Names = forge.pki.CertificateField[];

/** A certificate with a key of its own, signed by `signerKey`; without one by itself. */
function issued(
  { subject, issuer, days }: { subject: Names; issuer: Names; days: number },
  signerKey: string | undefined,
  extensions: object[],
): Pair {
  const { privateKey: key, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = `01${randomBytes(8).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - DAY_MS);
  certificate.validity.notAfter = new Date(Date.now() + days * DAY_MS);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer);
  certificate.setExtensions(extensions);
  certificate.sign(forge.pki.privateKeyFromPem(signerKey ?? key), forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate), key };
}
