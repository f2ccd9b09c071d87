import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { signerCertificate, whyCmsFails } from './cms.js';

const SEED = 20_261_121;
const read = (path: string) => readFileSync(new URL(path, import.meta.url));
const { content, holds, fails } = JSON.parse(read('../../test/signatures.json').toString()) as {
  content: string;
  holds: Record<string, string>;
  fails: Record<string, string>;
};
const main = signerCertificate(read('../../data/accounts/main.crt.pem'));
const north = signerCertificate(read('../../data/accounts/north.crt.pem'));
const bytes = Buffer.from(content);
const der = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64');

describe('detached CMS signatures', () => {
  it.each(Object.keys(holds))('of OpenSSL with %s hold over their content and for their signer only', (name) => {
    const cms = der(holds[name]);
    expect(whyCmsFails(cms, bytes, main)).toBeUndefined();
    expect(whyCmsFails(cms, Buffer.from('pedigree'), main)).toMatch(/digest|verify/);
    expect(whyCmsFails(cms, bytes, north)).toBeDefined();
  });

  it('that enclose their content are refused', () => {
    expect(whyCmsFails(der(fails['-nodetach']), bytes, main)).toContain('detached');
  });

  it(`are refused when they are cut, and no damage throws (seed ${SEED})`, () => {
    const cms = der(holds['plain']);
    const damaged = fc.tuple(fc.nat(cms.length - 1), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(damaged, ([at, change]) => {
        expect(whyCmsFails(cms.subarray(0, at), bytes, main)).toBeDefined();
        const copy = Buffer.from(cms);
        copy[at] = (copy[at] as number) ^ change;
        const failure = whyCmsFails(copy, bytes, main);
        // The last 256 bytes are the signature value; damage there can never pass.
        if (at >= cms.length - 256) expect(failure).toContain('verify');
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});
