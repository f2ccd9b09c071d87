import type { Sha256 } from '#kernel';

export interface CachedBlob {
  bytes: Buffer;
  mediaType: string;
}

/** What an entry costs beside its bytes, roughly. */
const ENTRY_BYTES = 200;

/**
 * The most recently used blobs, up to a sum of bytes. A blob above an eighth of that is not kept: it would push out all
 * others.
 */
export class BlobCache {
  private readonly blobs = new Map<Sha256, CachedBlob>();
  private heldBytes = 0;

  constructor(private readonly mostBytes: number) {}

  get(sha256: Sha256): CachedBlob | undefined {
    const blob = this.blobs.get(sha256);
    if (blob === undefined) return undefined;
    // A Map keeps the order of insertion, so the first key is always the one that was unused longest.
    this.blobs.delete(sha256);
    this.blobs.set(sha256, blob);
    return blob;
  }

  add(sha256: Sha256, blob: CachedBlob): void {
    if (blob.bytes.length > this.mostBytes / 8 || this.get(sha256) !== undefined) return;
    this.blobs.set(sha256, blob);
    this.heldBytes += blob.bytes.length + ENTRY_BYTES;
    for (const [oldest, { bytes }] of this.blobs) {
      if (this.heldBytes <= this.mostBytes) return;
      this.blobs.delete(oldest);
      this.heldBytes -= bytes.length + ENTRY_BYTES;
    }
  }

  get bytes(): number {
    return this.heldBytes;
  }
}
