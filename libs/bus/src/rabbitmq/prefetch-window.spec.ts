import { describe, expect, it } from '@jest/globals';
import { PrefetchWindow } from './prefetch-window.js';

const MIB = 1024 * 1024;
const noted = (window: PrefetchWindow, bytes: number, times: number): number[] =>
  Array.from({ length: times }, () => (window.note(bytes), window.size));

describe('the prefetch window', () => {
  it('begins small, and has grown to all that may be under way after 128 small messages', () => {
    const window = new PrefetchWindow({ mostMessages: 128, mostBytes: 64 * MIB });
    expect(window.size).toBe(8);
    expect(new Set(noted(window, 3_000, 127))).toEqual(new Set([8, 32]));
    expect(noted(window, 3_000, 1)).toEqual([128]);
  });

  it('falls at the first large message to as many of its size as fit, and stays there while they come', () => {
    const window = new PrefetchWindow({ mostMessages: 128, mostBytes: 64 * MIB });
    noted(window, 3_000, 200);
    expect(new Set(noted(window, 8 * MIB, 500))).toEqual(new Set([8]));
    // One among many small ones keeps it there as well.
    for (let n = 0; n < 10; n += 1)
      expect([...noted(window, 8 * MIB, 1), ...noted(window, 3_000, 60)].every((size) => size <= 32)).toBe(true);
  });

  it('lets one message be under way that is larger than the limit', () => {
    const window = new PrefetchWindow({ mostMessages: 128, mostBytes: 64 * MIB });
    expect(noted(window, 100 * MIB, 1)).toEqual([1]);
  });

  it('never asks for more than may be under way, and takes no account of sizes where bytes are not limited', () => {
    expect(new PrefetchWindow({ mostMessages: 3, mostBytes: 64 * MIB }).size).toBe(3);
    const unlimited = new PrefetchWindow({ mostMessages: 7, mostBytes: Number.MAX_SAFE_INTEGER });
    expect([unlimited.size, ...noted(unlimited, 100 * MIB, 70)].every((size) => size === 7)).toBe(true);
  });
});
