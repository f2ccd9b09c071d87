import { deflateSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { decode, encode } from './encoding.js';

describe('the stored form', () => {
  it.each([0, 200, 201, 256 * 1024, 256 * 1024 + 1])('of %d bytes is read back', async (byteLength) => {
    const bytes = Buffer.alloc(byteLength, 'packs ');
    const { encoding, content } = await encode(bytes, 'application/xml');
    expect(encoding).toBe(byteLength > 200 ? 1 : 0);
    expect((await decode(encoding, content, byteLength)).equals(bytes)).toBe(true);
  });

  it('never inflates to more than was recorded', async () => {
    const bomb = deflateSync(Buffer.alloc(50_000_000));
    await expect(decode(1, bomb, 1_000)).rejects.toThrow();
  });
});
