import { describe, expect, it } from '@jest/globals';
import { BlobCache } from './blob-cache.js';

const blob = (byteLength: number) => ({ bytes: Buffer.alloc(byteLength), mediaType: 'x' });

describe('the blob cache', () => {
  it('drops what was unused longest and never holds more than its limit', () => {
    const cache = new BlobCache(10_000);
    for (let i = 0; i < 100; i += 1) {
      cache.add(`b${i}`, blob(800));
      cache.get('b0');
      expect(cache.bytes).toBeLessThanOrEqual(10_000);
    }
    expect(cache.get('b0')).toBeDefined();
    expect(cache.get('b99')).toBeDefined();
    expect(cache.get('b50')).toBeUndefined();
  });

  it('counts a blob that is added twice once', () => {
    const cache = new BlobCache(10_000);
    cache.add('a', blob(500));
    const once = cache.bytes;
    cache.add('a', blob(500));
    expect(cache.bytes).toBe(once);
  });

  it('keeps no blob that would push out all others, and nothing at all at limit 0', () => {
    const cache = new BlobCache(10_000);
    cache.add('large', blob(5_000));
    expect(cache.get('large')).toBeUndefined();
    const none = new BlobCache(0);
    none.add('a', blob(0));
    expect(none.get('a')).toBeUndefined();
    expect(none.bytes).toBe(0);
  });
});
