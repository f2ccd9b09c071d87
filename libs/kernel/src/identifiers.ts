import { hash } from 'node:crypto';

/** Item-level identifier: GTIN-14 and a serial of 13 letters or digits (public-facts 2.1). 27 characters. */
export type Sgtin = string;
/** Logistic unit identifier: 18 digits (public-facts 2.1). */
export type Sscc = string;
/** Trade item number: 14 digits. */
export type Gtin = string;

const SGTIN = /^\d{14}[A-Za-z0-9]{13}$/;
const SSCC = /^\d{18}$/;
const GTIN = /^\d{14}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isSgtin = (text: string): text is Sgtin => SGTIN.test(text);
export const isSscc = (text: string): text is Sscc => SSCC.test(text);
export const isGtin = (text: string): text is Gtin => GTIN.test(text);
export const isUuid = (text: string): boolean => UUID.test(text);

/** A UUID in small letters, as we write them; whoever reads one ignores the case (RFC 9562, 4). Other text stays. */
export const canonicalUuid = (text: string): string => (isUuid(text) ? text.toLowerCase() : text);

/** The GTIN-14 and the serial of an SGTIN. The caller has checked the shape with `isSgtin`. */
export function splitSgtin(sgtin: Sgtin): { gtin: Gtin; serial: string } {
  return { gtin: sgtin.slice(0, 14), serial: sgtin.slice(14) };
}

/**
 * Whether the last digit of a GTIN or SSCC is its GS1 mod-10 check digit. The registry does not enforce it
 * (public-facts 3.3), so a wrong one is a warning and never a refusal.
 */
export function hasValidCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let i = digits.length - 2, weight = 3; i >= 0; i -= 1, weight = 4 - weight) {
    sum += (digits.charCodeAt(i) - 48) * weight;
  }
  return (10 - (sum % 10)) % 10 === digits.charCodeAt(digits.length - 1) - 48;
}

/** The GS1 mod-10 check digit that completes `digits`. */
export function checkDigitOf(digits: string): string {
  for (let last = 0; last < 10; last += 1) {
    if (hasValidCheckDigit(`${digits}${last}`)) return String(last);
  }
  throw new Error(`no check digit completes ${digits}`);
}

/** UUID version 5 (RFC 9562, 5.5) of `name` in `namespace` (a UUID): bits of a SHA-1, version and variant in theirs. */
export function uuid5(name: string, namespace: string): string {
  if (!isUuid(namespace)) throw new TypeError(`${namespace} is no UUID`);
  if (LONE_SURROGATE.test(name)) throw new TypeError('a name of a UUID must have a form in UTF-8');
  const named = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  const bits = hash('sha1', Buffer.concat([named, Buffer.from(name, 'utf8')]), 'hex');
  const variant = ((parseInt(bits.charAt(16), 16) & 3) | 8).toString(16);
  return [
    ...[bits.slice(0, 8), bits.slice(8, 12), `5${bits.slice(13, 16)}`],
    ...[`${variant}${bits.slice(17, 20)}`, bits.slice(20, 32)],
  ].join('-');
}

/** The request_id under which a command's document is known to the registry: UUIDv5(installation, command id). */
export const requestIdOf = (installationId: string, commandId: string): string => uuid5(commandId, installationId);
