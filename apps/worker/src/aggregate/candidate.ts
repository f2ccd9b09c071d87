import type { EvidenceStore } from '#evidence';
import { sha256Hex, type Sha256 } from '#kernel';

/**
 * Bytes that become evidence only when an event names them. They are stored then, before that event is appended, and
 * once, however many events name them: an answer that says nothing new leaves nothing behind.
 */
export class Candidate {
  readonly sha256: Sha256;
  private stored: Promise<unknown> | undefined;

  constructor(
    private readonly evidence: Pick<EvidenceStore, 'put'>,
    private readonly bytes: Uint8Array,
    private readonly mediaType: string,
  ) {
    this.sha256 = sha256Hex(bytes);
  }

  /** Resolves when the bytes are durable. */
  async store(): Promise<void> {
    this.stored ??= this.evidence.put(this.bytes, this.mediaType);
    await this.stored;
  }

  /** Whether this text, the canonical JSON of an event's data, names it. */
  isNamedIn(data: string): boolean {
    return data.includes(this.sha256);
  }
}
