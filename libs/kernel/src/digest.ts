import { hash } from 'node:crypto';

/** A SHA-256 digest as 64 lower-case hexadecimal digits: the name of a piece of evidence. */
export type Sha256 = string;

export const sha256Hex = (bytes: Uint8Array | string): Sha256 => hash('sha256', bytes, 'hex');
export const isSha256 = (text: string): text is Sha256 => /^[0-9a-f]{64}$/.test(text);
