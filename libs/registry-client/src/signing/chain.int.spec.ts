import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pemChain } from './chain.js';
import { openCommandSigner } from './command-signer.js';
import { Pkcs12Signer } from './pkcs12-signer.js';

const XML = Buffer.from('<documents/>');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-chain-'));
  certify('root');
  certify('middle', 'root');
  certify('user', 'middle');
  certify('stranger');
  writeFileSync(join(folder, 'issuers.pem'), ['root', 'middle', 'stranger'].map((one) => pem(one)).join(''));
});
afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
const pem = (name: string): string => readFileSync(at(`${name}.crt`), 'utf8');
const der = (name: string): Buffer => new X509Certificate(pem(name)).raw;
const subjects = (chain: Buffer | undefined): string[] =>
  (chain?.toString().match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? []).map(
    (one) => new X509Certificate(one).subject,
  );

/** A certificate of its own, or issued by another. */
function certify(name: string, issuer?: string): void {
  const isIssuer = name !== 'user';
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.crt`, '-days', '3650'];
  const extension = ['-addext', `basicConstraints=critical,CA:${isIssuer ? 'TRUE' : 'FALSE'}`];
  const by = issuer === undefined ? [] : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`];
  openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, ...extension, ...by);
}

describe('the chain of a signer', () => {
  it('goes from the signer to the last issuer that is there, whatever the order, and takes no stranger', () => {
    const given = ['stranger', 'root', 'user', 'middle'].map((one) => der(one));
    expect(subjects(pemChain(der('user'), given))).toEqual(['CN=user', 'CN=middle', 'CN=root']);
    expect(subjects(pemChain(der('user'), [der('root')]))).toEqual(['CN=user']);
    expect(subjects(pemChain(der('user'), [Buffer.from('no certificate'), der('middle')]))).toEqual([
      'CN=user',
      'CN=middle',
    ]);
    expect(subjects(pemChain(der('root'), given))).toEqual(['CN=root']);
  });

  it('is read from the file of the key', async () => {
    const aes = ['-certpbe', 'AES-256-CBC', '-keypbe', 'AES-256-CBC', '-macalg', 'sha256', '-passout', 'pass:word'];
    openssl(
      ...['pkcs12', '-export', '-inkey', 'user.key', '-in', 'user.crt', '-certfile', 'issuers.pem', '-out', 'user.p12'],
      ...aes,
    );
    const signer = Pkcs12Signer.open({
      name: 'main',
      signer: { kind: 'pkcs12', file: at('user.p12'), password: 'word' },
    });
    expect(subjects(signer.chain())).toEqual(['CN=user', 'CN=middle', 'CN=root']);
    await signer.sign(XML);
    expect(signer.chain()).toBe(signer.chain());
  });

  it('is read from the signature of an outside signer, and the same chain is the same Buffer', async () => {
    const command = ['openssl', 'cms', '-sign', '-binary', '-outform', 'DER', '-md', 'sha256'];
    const signer = openCommandSigner('main', {
      ...{ kind: 'command', folder, environment: {}, timeLimitMs: 20_000, concurrency: 1 },
      command: [...command, '-signer', 'user.crt', '-inkey', 'user.key', '-certfile', 'issuers.pem'],
    });
    const [first, second] = [await signer.sign(XML), await signer.sign(XML)];
    expect(subjects(signer.chain(first))).toEqual(['CN=user', 'CN=middle', 'CN=root']);
    expect(signer.chain(second)).toBe(signer.chain(first));
    await signer.close?.();
  });

  it('begins with the signer where he is named by his key alone, among others in any order', async () => {
    const all = ['user', 'middle', 'root', 'stranger'];
    for (const name of all) {
      const others = all.filter((one) => one !== name);
      writeFileSync(at('others.pem'), others.map((one) => pem(one)).join(''));
      const sign = ['cms', '-sign', '-binary', '-keyid', '-signer', `${name}.crt`, '-inkey', `${name}.key`];
      const signer = openCommandSigner('main', {
        kind: 'command',
        command: ['openssl', ...sign, '-certfile', 'others.pem', '-outform', 'DER'],
        folder,
        environment: {},
        timeLimitMs: 10_000,
        concurrency: 1,
      });
      const signature = await signer.sign(XML);
      expect([name, signer.certificate(signature)?.equals(der(name))]).toEqual([name, true]);
    }
  });

  it('is of a signer whose certificate tells the identifier of its key in a form of its own', async () => {
    for (const [nth, bytes] of ['00010203040506', '0481', '04140102', '13'].entries()) {
      const [key, certificate] = [`odd-${nth}.key`, `odd-${nth}.crt`];
      const identifier = ['-addext', `2.5.29.14=DER:${bytes}`];
      openssl(
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-keyout',
        key,
        '-out',
        certificate,
        ...identifier,
        ...['-subj', '/CN=odd'],
      );
      const signer = openCommandSigner('main', {
        kind: 'command',
        command: ['openssl', 'cms', '-sign', '-binary', '-outform', 'DER', '-signer', certificate, '-inkey', key],
        folder,
        environment: {},
        timeLimitMs: 10_000,
        concurrency: 1,
      });
      expect(subjects(signer.chain(await signer.sign(XML)))).toEqual(['CN=odd']);
      await signer.close?.();
    }
  });
});
