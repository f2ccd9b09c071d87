import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHash, generateKeyPairSync, hash as nodeHash, sign } from 'node:crypto';
import { Bytes, BytesInPlaceOfBuffer } from './bytes.js';
import { checkAsked, createPublicKey, hash, verify } from './node-crypto.js';
import { sha256 } from './sha256.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('SHA-256 of the page', () => {
  it("is that of the standard's examples", () => {
    const of = (text: string): string => hex(sha256(Buffer.from(text)));
    expect(of('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(of('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(of('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    );
  });

  it('is that of Node for each length up to five blocks, and for bytes that nobody chose', () => {
    const check = (bytes: Uint8Array): void => {
      expect(hex(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
    };
    for (let length = 0; length <= 320; length += 1) check(new Uint8Array(length).map((_, at) => at * 31 + length));
    fc.assert(fc.property(fc.uint8Array({ maxLength: 5_000 }), check), { seed: SEED, numRuns: 300 });
  });
});

describe('a digest in one call', () => {
  it('is that of Node, as bytes and as text', () => {
    for (const data of ['', 'a text with ü', new Uint8Array([0, 255, 7])]) {
      expect(hex(hash('sha256', data, 'buffer') as Bytes)).toBe(nodeHash('sha256', data, 'hex'));
      for (const encoding of ['hex', 'base64'] as const)
        expect(hash('sha256', data, encoding)).toBe(nodeHash('sha256', data, encoding));
    }
    expect(() => hash('md5', '', 'hex')).toThrow('this page has no md5');
  });
});

describe('bytes of the page', () => {
  it('are read and written as Buffer does', () => {
    const { alloc, concat, from } = BytesInPlaceOfBuffer;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 10, maxLength: 20_000 }), fc.uint8Array({ maxLength: 12 }), (a, b) => {
        const [mine, node] = [from(a), Buffer.from(a)];
        for (const encoding of ['hex', 'base64', 'utf8'] as const) {
          const text = node.toString(encoding);
          expect(mine.toString(encoding)).toBe(text);
          expect(hex(from(text, encoding))).toBe(hex(Buffer.from(text, encoding)));
        }
        expect(mine.readUInt16BE(3)).toBe(node.readUInt16BE(3));
        expect((mine.subarray(1) as Bytes).readBigUInt64BE(1)).toBe(node.subarray(1).readBigUInt64BE(1));
        expect(Math.sign(mine.compare(b))).toBe(Buffer.compare(node, Buffer.from(b)));
        expect(mine.equals(from(a))).toBe(true);
        expect(mine.equals(mine.subarray(1))).toBe(false);
        for (const at of [0, a.length - 1]) {
          const other = from(a);
          other[at] = (a[at] as number) ^ 1;
          expect(mine.equals(other)).toBe(false);
        }
        expect(hex(concat([mine, from(b), alloc(2)]))).toBe(hex(Buffer.concat([node, b, Buffer.alloc(2)])));
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('take no text for base64 that Buffer would write in another way', () => {
    for (const text of ['!', 'AA', 'AA=', 'AB==', 'A A A=', 'AAA=\n', '====', 'ü']) {
      const again = BytesInPlaceOfBuffer.from(text, 'base64').toString('base64');
      expect([text, again === text]).toEqual([text, Buffer.from(text, 'base64').toString('base64') === text]);
      expect(again).not.toBe(text);
    }
    expect(BytesInPlaceOfBuffer.from('AAA=', 'base64').toString('base64')).toBe('AAA=');
  });
});

describe('signatures in the page', () => {
  it('hold when they were checked, and not before', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { x = '' } = publicKey.export({ format: 'jwk' });
    const key = createPublicKey({ key: { x } });
    const [data, other] = [Buffer.from('text'), Buffer.from('other')];
    const signature = sign(null, data, privateKey);
    expect(await checkAsked()).toBe(false);
    expect(verify(null, data, key, signature)).toBe(false);
    expect(verify(null, other, key, signature)).toBe(false);
    expect(verify(null, data, key, signature.subarray(1))).toBe(false);
    expect(await checkAsked()).toBe(true);
    expect(verify(null, data, key, signature)).toBe(true);
    expect(verify(null, other, key, signature)).toBe(false);
    expect(verify(null, data, key, signature.subarray(1))).toBe(false);
    expect(await checkAsked()).toBe(false);
  });
});
