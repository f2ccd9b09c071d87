import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { readAccounts } from '../accounts.js';
import type { Account } from '../port.js';
import { Pkcs12Signer } from './pkcs12-signer.js';
import { verifyDetachedCms } from './verify-cms.js';

const ACCOUNTS = fileURLToPath(new URL('../../../../apps/sandbox/data/accounts.json', import.meta.url));
type Pkcs12Account = Account & { signer: { kind: 'pkcs12' } };
const accounts = readAccounts(ACCOUNTS) as Pkcs12Account[];
const main = accounts[0] as Pkcs12Account;
const XML = Buffer.from(
  '<documents version="1.38"><move_order action_id="415">Привет</move_order></documents>',
  'utf8',
);
const AT = new Date('2026-11-21T10:20:30.400Z');
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('Pkcs12Signer', () => {
  it.each(accounts.map((account) => [account.name, account] as const))(
    'opens the key of %s and has its certificate byte for byte',
    (_name, account) => {
      const signer = Pkcs12Signer.open(account);
      const pem = new X509Certificate(readFileSync(account.signer.file.replace('.p12', '.crt.pem')));
      expect(signer.certificate().equals(pem.raw)).toBe(true);
      expect(createHash('sha1').update(signer.certificate()).digest('hex')).toBe(account.userId);
      expect(signer.expiresAt()).toEqual(new Date(pem.validTo));
    },
  );

  it('signs so that the content, the time and the certificate verify', async () => {
    const signer = Pkcs12Signer.open(main, new VirtualClock(AT));
    const verified = verifyDetachedCms(XML, await signer.sign(XML));
    expect(verified.signedAt.toISOString()).toBe('2026-11-21T10:20:30.000Z');
    expect(verified.certificate.equals(signer.certificate())).toBe(true);
  });

  it('signs many documents at once without mixing them', async () => {
    const signer = Pkcs12Signer.open(main);
    const contents = Array.from({ length: 50 }, (_, i) => Buffer.from(`document ${i}`));
    const signatures = await Promise.all(contents.map((content) => signer.sign(content)));
    signatures.forEach((signature, i) =>
      expect(() => verifyDetachedCms(contents[i] as Buffer, signature)).not.toThrow(),
    );
  });

  it('writes the time as GeneralizedTime from 2050', async () => {
    const clock = new VirtualClock(new Date('2049-12-31T23:59:59Z'));
    const signer = Pkcs12Signer.open(main, clock);
    expect(verifyDetachedCms(XML, await signer.sign(XML)).signedAt.toISOString()).toBe('2049-12-31T23:59:59.000Z');
    clock.advance(1000);
    expect(verifyDetachedCms(XML, await signer.sign(XML)).signedAt.toISOString()).toBe('2050-01-01T00:00:00.000Z');
  });

  it('refuses other content, and every kind of tampering with the signature', async () => {
    const cms = await Pkcs12Signer.open(main).sign(XML);
    expect(() => verifyDetachedCms(Buffer.concat([XML, Buffer.from(' ')]), cms)).toThrow('over other content');
    const flipped = (at: number): Buffer => {
      const copy = Buffer.from(cms);
      copy[at] = (copy[at] as number) ^ 1;
      return copy;
    };
    expect(() => verifyDetachedCms(XML, flipped(cms.length - 1))).toThrow('does not verify');
    // The last digit of the signing time is signed too; the marker is its attribute's type.
    const timeAt = cms.indexOf(Buffer.from('2a864886f70d010905', 'hex')) + 9 + 4;
    expect(() => verifyDetachedCms(XML, flipped(timeAt + 11))).toThrow('does not verify');
    expect(() => verifyDetachedCms(XML, cms.subarray(0, cms.length - 5))).toThrow('signature:');
    expect(() => verifyDetachedCms(XML, Buffer.from('not a signature'))).toThrow('signature:');
  });

  it('names account and file on a wrong password or a missing file, never the password', () => {
    const wrong = { ...main, signer: { ...main.signer, password: 'open-sesame' } };
    expect(() => Pkcs12Signer.open(wrong)).toThrow(/signer of account "main": .*main\.p12: .*password/i);
    expect(() => Pkcs12Signer.open(wrong)).not.toThrow(/open-sesame/);
    const missing = { ...main, signer: { ...main.signer, file: '/nowhere/key.p12' } };
    expect(() => Pkcs12Signer.open(missing)).toThrow(/\/nowhere\/key\.p12: ENOENT/);
  });

  it('does not use a key that every user of the machine can read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pedigree-p12-'));
    try {
      const file = join(folder, 'main.p12');
      copyFileSync(main.signer.file, file);
      for (const [path, mode] of [
        [folder, 0o755],
        [file, 0o644],
      ] as const)
        chmodSync(path, mode);
      expect(() => Pkcs12Signer.open({ ...main, signer: { ...main.signer, file } })).toThrow(
        `can read or change ${file} (mode 0644)`,
      );
      chmodSync(file, 0o600);
      expect(Pkcs12Signer.open({ ...main, signer: { ...main.signer, file } }).certificate()).toBeInstanceOf(Buffer);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a signature in the eyes of OpenSSL', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'pedigree-cms-'));
    if (!hasOpenssl)
      process.stderr.write('SKIPPED: no openssl on this machine, signatures were checked by our own verifier alone\n');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  (hasOpenssl ? it : it.skip)('verifies, and fails over other content', async () => {
    writeFileSync(join(folder, 'cms'), await Pkcs12Signer.open(main).sign(XML));
    writeFileSync(join(folder, 'xml'), XML);
    writeFileSync(join(folder, 'other'), 'other');
    // -cades makes it check the signed certificate reference too; the sandbox's certificates are their own roots.
    const trust = ['-CAfile', main.signer.file.replace('.p12', '.crt.pem'), '-purpose', 'any'];
    const verify = (content: string): Buffer =>
      execFileSync(
        'openssl',
        [
          'cms',
          '-verify',
          '-cades',
          ...trust,
          '-inform',
          'DER',
          '-binary',
          '-in',
          join(folder, 'cms'),
          '-content',
          join(folder, content),
        ],
        { stdio: 'pipe' },
      );
    expect(verify('xml').equals(XML)).toBe(true);
    expect(() => verify('other')).toThrow(/Command failed/);
  });
});
