type Encoding = 'utf8' | 'hex' | 'base64';

/**
 * What the verifier asks of Node's Buffer, where there is a browser instead. What it does not ask is not here, so that
 * a new question is an error and no wrong answer.
 */
export class Bytes extends Uint8Array {
  equals(other: Uint8Array): boolean {
    if (this.length !== other.length) return false;
    for (let at = 0; at < this.length; at += 1) if (this[at] !== other[at]) return false;
    return true;
  }

  /** Below 0, 0 or above 0, as the bytes stand in order. */
  compare(other: Uint8Array): number {
    const at = this.findIndex((byte, index) => byte !== other[index]);
    if (at < 0) return this.length - other.length;
    return (this[at] as number) - (other[at] ?? -1);
  }

  readUInt16BE(at: number): number {
    return new DataView(this.buffer, this.byteOffset, this.length).getUint16(at);
  }

  readBigUInt64BE(at: number): bigint {
    return new DataView(this.buffer, this.byteOffset, this.length).getBigUint64(at);
  }

  override toString(encoding: Encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this);
    if (encoding === 'hex') return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return toBase64(this);
  }
}

/** In the place of the class Buffer. */
export const BytesInPlaceOfBuffer = {
  alloc: (length: number): Bytes => new Bytes(length),

  from(source: string | ArrayLike<number>, encoding: Encoding = 'utf8'): Bytes {
    if (typeof source !== 'string') return new Bytes(source);
    if (encoding === 'utf8') return new Bytes(new TextEncoder().encode(source));
    return encoding === 'hex' ? fromHex(source) : fromBase64(source);
  },

  concat(parts: Uint8Array[]): Bytes {
    const whole = new Bytes(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  },
};

/** As Node does: up to the first two characters that are no hexadecimal digits. */
function fromHex(text: string): Bytes {
  const digits = /^(?:[0-9a-f]{2})*/i.exec(text)?.[0] ?? '';
  return Bytes.from({ length: digits.length / 2 }, (_, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  ) as Bytes;
}

/** What is not base64 gives no bytes; who reads strictly writes the bytes again and compares. */
function fromBase64(text: string): Bytes {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return new Bytes(0);
  }
  const bytes = new Bytes(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** So many arguments every engine takes. */
const CHUNK_BYTES = 8_192;

function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  return btoa(binary);
}
