import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readAccounts } from '../accounts.js';
import { Pkcs12Signer } from './pkcs12-signer.js';
import { checkProducedCms, derOfProduced, knownCertificate, type KnownCertificate } from './produced-cms.js';
import { fileURLToPath } from 'node:url';

const SEED = 20_261_121;
const sandboxData = (name: string): string =>
  fileURLToPath(new URL(`../../../../apps/sandbox/data/${name}`, import.meta.url));
const [main] = readAccounts(sandboxData('accounts.json'));
const certificate = (name: string): KnownCertificate =>
  knownCertificate(readFileSync(sandboxData(`accounts/${name}.crt.pem`)));
const content = Buffer.from('<documents/>');
const cms = await Pkcs12Signer.open(main as NonNullable<typeof main>).sign(content);

const base64 = cms.toString('base64');
const lines = (base64.match(/.{1,64}/g) ?? []).join('\n');
const pem = (label: string): string => `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;

describe('derOfProduced', () => {
  it.each([
    ['DER', cms],
    ['base64', base64],
    ['base64 in lines', `${lines.replaceAll('\n', '\r\n')}\r\n`],
    ['PEM of OpenSSL 1', pem('PKCS7')],
    ['PEM of OpenSSL 3', pem('CMS')],
    ['PEM after words of the program', `Signing…\n${pem('CMS')}`],
  ])('reads %s', (_name, output) => {
    expect(derOfProduced(Buffer.from(output)).equals(cms)).toBe(true);
  });

  it.each([
    ['nothing', '', 'empty'],
    ['words', 'Error: no licence', 'neither DER nor PEM nor base64'],
    ['a page', '<html>502</html>', 'neither'],
    ['base64 of words', Buffer.from('no signature at all').toString('base64'), 'not DER'],
    ['half of a signature', cms.subarray(0, 700), 'neither'],
    ['half of a signature in base64', base64.slice(0, 800), 'not DER'],
  ])('refuses %s', (_name, output, words) => {
    expect(() => derOfProduced(Buffer.from(output))).toThrow(words);
  });
});

describe('checkProducedCms', () => {
  it('gives the certificate inside, expected or not', () => {
    expect(checkProducedCms(content, cms, {}).der.equals(certificate('main').der)).toBe(true);
    const known = certificate('main');
    expect(checkProducedCms(content, cms, { expected: known })).toBe(known);
    expect(checkProducedCms(content, cms, { last: known })).toBe(known);
    expect(checkProducedCms(content, cms, { last: certificate('north') }).der.equals(known.der)).toBe(true);
  });

  it('refuses another certificate, other content and a signature that does not verify', () => {
    expect(() => checkProducedCms(content, cms, { expected: certificate('north') })).toThrow(
      'another certificate than the configured one',
    );
    expect(() => checkProducedCms(Buffer.from('<other/>'), cms, {})).toThrow('over other content');
    const damaged = Buffer.from(cms);
    damaged[cms.length - 1] = (damaged[cms.length - 1] as number) ^ 1;
    expect(() => checkProducedCms(content, damaged, {})).toThrow('does not verify by its certificate');
  });

  it('refuses what encloses its content', () => {
    const { fails } = JSON.parse(readFileSync(sandboxData('../test/signatures.json'), 'utf8')) as {
      fails: Record<string, string>;
    };
    expect(() => checkProducedCms(content, Buffer.from(fails['-nodetach'] ?? '', 'base64'), {})).toThrow(
      'not detached',
    );
  });

  it(`takes no damage in what is signed, and fails in words (seed ${SEED})`, () => {
    const mine = certificate('main');
    fc.assert(
      fc.property(fc.nat(cms.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(cms);
        damaged[at] = (damaged[at] as number) ^ change;
        let words: string | undefined;
        try {
          checkProducedCms(content, damaged, { expected: mine });
        } catch (error) {
          words = (error as Error).message;
        }
        if (at >= cms.length - 256) expect(words).toContain('does not verify');
        expect(words ?? 'passed').not.toMatch(/undefined|not a function|Cannot read/);
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });
});
