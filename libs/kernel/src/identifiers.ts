import { v5 as uuidV5 } from 'uuid';

/** Item-level identifier: GTIN-14 and a serial of 13 letters or digits (public-facts 2.1). 27 characters. */
export type Sgtin = string;
/** Logistic unit identifier: 18 digits (public-facts 2.1). */
export type Sscc = string;
/** Trade item number: 14 digits. */
export type Gtin = string;

const SGTIN = /^\d{14}[A-Za-z0-9]{13}$/;
const SSCC = /^\d{18}$/;
const GTIN = /^\d{14}$/;
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

/** UUID version 5 (RFC 9562, 5.5) of `name` in `namespace` (a UUID). */
export const uuid5 = (name: string, namespace: string): string => uuidV5(name, namespace);

/** The request_id under which a command's document is known to the registry: UUIDv5(installation, command id). */
export const requestIdOf = (installationId: string, commandId: string): string => uuid5(commandId, installationId);
