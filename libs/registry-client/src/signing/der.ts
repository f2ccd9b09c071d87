/**
 * DER (X.690) written by hand: just the few shapes of a CMS signature. Reading is asn1js's work.
 */

/** Tag, length and content of one element; several contents are joined. */
export function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const size = content.length;
  if (size < 0x80) return Buffer.concat([Buffer.from([tag, size]), content]);
  const length: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length, ...length]), content]);
}

export const SEQUENCE = 0x30;
export const SET = 0x31;
export const INTEGER = 0x02;
export const OCTET_STRING = 0x04;
export const UTC_TIME = 0x17;
export const GENERALIZED_TIME = 0x18;
/** Context tag n, constructed. */
export const context = (n: number): number => 0xa0 | n;

export const NULL = Buffer.from([0x05, 0x00]);

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number) as [number, number, ...number[]];
  const bytes: number[] = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) groups.unshift(0x80 | (left % 128));
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

/** SET OF in DER: elements ordered by their encodings (X.690, 11.6), under the tag asked for. */
export const setOf = (tag: number, elements: Buffer[]): Buffer => der(tag, ...[...elements].sort(Buffer.compare));

export const OID = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  sha256: '2.16.840.1.101.3.4.2.1',
  rsaEncryption: '1.2.840.113549.1.1.1',
  sha256WithRsa: '1.2.840.113549.1.1.11',
} as const;
