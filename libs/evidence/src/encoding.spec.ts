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

  const outcome = async (...given: Parameters<typeof decode>) => decode(...given);

  it.each([0, 1, 63, 64, 1_000, 256 * 1024, 300_000])(
    'never inflates to more than the %d bytes recorded',
    async (length) => {
      const bomb = deflateSync(Buffer.alloc(50_000_000));
      await expect(outcome(1, bomb, length)).rejects.toThrow(/larger than/);
      await expect(outcome(1, deflateSync(Buffer.alloc(length + 1)), length)).rejects.toThrow();
    },
  );

  it.each([300, 300_000])('of %d bytes is refused where it was cut, or is said to be longer', async (length) => {
    const content = deflateSync(Buffer.alloc(length, 'packs '));
    await expect(outcome(1, content.subarray(0, -1), length)).rejects.toThrow();
    await expect(outcome(1, content, length + 1)).rejects.toThrow(`${length} bytes where ${length + 1} are recorded`);
    await expect(outcome(2, content, length)).rejects.toThrow('encoding 2 is unknown');
  });
});
