import { createPrivateKey, pbkdf2Sync, X509Certificate, type KeyObject } from 'node:crypto';
import { PedigreeError, systemClock, type Clock } from '#kernel';
import { readSecretFile } from '#secret-files';
import forge from 'node-forge';
import type { Account, Signer } from '../port.js';
import { pemChain } from './chain.js';
import { DetachedCms } from './detached-cms.js';

/**
 * Signs with an RSA key from a PKCS#12 file. The file is opened once, by node-forge, which alone here knows the format;
 * the signing is Node's own. Other keys (GOST) need another signer.
 */
export class Pkcs12Signer implements Signer {
  private readonly cms: DetachedCms;
  private readonly x509: X509Certificate;
  private readonly der: Buffer;
  private readonly pem: Buffer;

  private constructor(
    key: KeyObject,
    { certificate, certificates }: { certificate: X509Certificate; certificates: X509Certificate[] },
    private readonly clock: Clock,
  ) {
    this.x509 = certificate;
    this.der = certificate.raw;
    this.pem = pemChain(
      this.der,
      certificates.map((one) => one.raw),
    );
    this.cms = new DetachedCms(key, this.der);
  }

  /**
   * Opens the key file of `account` (section "Signing" of the stack: PBES2 with AES-256, HMAC-SHA256).
   * @throws PedigreeError invalid_configuration naming account and file; never the password.
   */
  static open(account: Pick<Account, 'name' | 'signer'>, clock: Clock = systemClock): Pkcs12Signer {
    const { signer } = account;
    const fail = (why: string): never => {
      throw new PedigreeError('invalid_configuration', `signer of account "${account.name}": ${why}`, {
        field: `accounts.${account.name}.signer`,
      });
    };
    if (signer.kind !== 'pkcs12') return fail(`is of kind ${signer.kind} instead of pkcs12`);
    const failFile = (why: string): never => fail(`${signer.file}: ${why}`);
    let opened: Opened;
    try {
      opened = openPkcs12(readSecretFile(signer.file), signer.password);
    } catch (error) {
      return failFile((error as Error).message);
    }
    if (opened.key.asymmetricKeyType !== 'rsa')
      return failFile(`holds a key of type ${opened.key.asymmetricKeyType ?? 'unknown'}, this signer takes RSA`);
    const certificate = opened.certificates.find((candidate) => candidate.checkPrivateKey(opened.key));
    if (certificate === undefined) return failFile('has no certificate for its key');
    return new Pkcs12Signer(opened.key, { certificate, certificates: opened.certificates }, clock);
  }

  sign(bytes: Uint8Array): Promise<Buffer> {
    return this.cms.sign(bytes, this.clock.now());
  }

  certificate(): Buffer {
    return this.der;
  }

  chain(): Buffer {
    return this.pem;
  }

  expiresAt(): Date {
    return new Date(this.x509.validTo);
  }
}

interface Opened {
  key: KeyObject;
  certificates: X509Certificate[];
}

type Derivation = [password: string, salt: string, rounds: number, keyBytes: number, hash?: Hash | null];
interface Hash {
  algorithm: string;
}

/** node-forge derives a key in JavaScript unless its hash is SHA-1: 40 ms for each account. Node's own takes one. */
Object.assign(forge.pkcs5, {
  pbkdf2(...[password, salt, rounds, keyBytes, hash]: Derivation): string {
    const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
    return pbkdf2Sync(bytes(password), bytes(salt), rounds, keyBytes, hash?.algorithm ?? 'sha1').toString('latin1');
  },
});

const toDer = (node: forge.asn1.Asn1): Buffer => Buffer.from(forge.asn1.toDer(node).getBytes(), 'latin1');

/**
 * First private key and all certificates of a PKCS#12 file. Throws in plain words on a wrong password or a foreign
 * format.
 */
function openPkcs12(bytes: Buffer, password: string): Opened {
  const p12 = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(bytes.toString('latin1')), password);
  const bagsOf = (type: string): forge.pkcs12.Bag[] => p12.getBags({ bagType: type })[type] ?? [];
  const keyBag = [
    ...bagsOf(forge.pki.oids['pkcs8ShroudedKeyBag'] as string),
    ...bagsOf(forge.pki.oids['keyBag'] as string),
  ][0];
  if (keyBag === undefined) throw new Error('has no private key');
  // node-forge understands RSA keys; of others it leaves the ASN.1, which is PKCS#8 already.
  const pkcs8 = keyBag.key ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(keyBag.key)) : keyBag.asn1;
  const certificates = bagsOf(forge.pki.oids['certBag'] as string).map(
    (bag) => new X509Certificate(toDer(bag.cert ? forge.pki.certificateToAsn1(bag.cert) : bag.asn1)),
  );
  return { key: createPrivateKey({ key: toDer(pkcs8), format: 'der', type: 'pkcs8' }), certificates };
}
